# SPDX-License-Identifier: Apache-2.0
"""The results file: every round of every row, with the machine it was measured on."""
import json
import os

from .turns import Round


class Results:
    """Keeps the rounds in a file after each of them, so that a comparison can be made in parts and survives a stop."""

    def __init__(self, path, machine):
        self.path, self.machine = path, machine
        self.rounds, self.skipped = {}, {}
        if path and os.path.exists(path):
            self._read()

    def _read(self):
        with open(self.path) as file:
            try:
                stored = json.load(file)
            except ValueError as problem:
                raise ValueError(f"{self.path}: is not a results file of this program ({problem})") from None
        if not isinstance(stored, dict) or "machine" not in stored or "rounds" not in stored:
            raise ValueError(f"{self.path}: is not a results file of this program")
        if stored["machine"] != self.machine:
            raise ValueError(f"{self.path}: was measured on another machine ({stored['machine']}); name another file")
        self.rounds = {row: [Round(**each) for each in rounds] for row, rounds in stored["rounds"].items()}
        self.skipped = stored.get("skipped", {})

    def add(self, row, measured):
        self.rounds.setdefault(row, []).append(measured)
        self.skipped.pop(row, None)
        self._write()

    def skip(self, row, reason):
        """Notes why a row cannot be measured here. Earlier rounds of it stay."""
        if row not in self.rounds:
            self.skipped[row] = reason
            self._write()

    def _write(self):
        if not self.path:
            return
        content = {
            "machine": self.machine,
            "rounds": {row: [each.as_json() for each in rounds] for row, rounds in self.rounds.items()},
            "skipped": self.skipped,
        }
        with open(self.path + ".tmp", "w") as file:
            json.dump(content, file, indent=1)
        os.replace(self.path + ".tmp", self.path)
