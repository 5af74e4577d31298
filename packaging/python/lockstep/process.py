# SPDX-License-Identifier: Apache-2.0
"""A program of Lockstep as a child process that never outlives Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Union

from lockstep.command import program
from lockstep.errors import LockstepError

Word = Union[str, int, float, bool, "os.PathLike[str]"]
Value = Union[Word, Sequence[Word]]
Path = Union[str, "os.PathLike[str]"]


def word(value: object) -> str:
    """Returns the value as a word of the command line. Refuses what has no obvious form there."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, (str, int, float)):
        text = str(value)
        if "\0" not in text:
            return text
    raise LockstepError(f"{value!r} is no value of an option; give a text, a number, a bool or a path")


def options_words(options: Mapping[str, Value]) -> list[str]:
    """`n_layers=2` becomes `--n-layers 2`; a list or a tuple becomes several words behind one option."""
    words = []
    for name, value in options.items():
        words.append("--" + name.replace("_", "-"))
        words += [word(one) for one in value] if isinstance(value, (list, tuple)) else [word(value)]
    return words


def failure(words: Sequence[str], code: int, lines: Iterable[str]) -> LockstepError:
    """Returns what the program said last as an error, or which signal killed it."""
    if code < 0:
        name = signal.Signals(-code).name
        why = "; the system does this where memory is short" if -code == signal.SIGKILL else ""
        return LockstepError(f"{words[0]} was killed by signal {-code} ({name}){why}", 128 - code)
    said = [line.strip() for line in lines if line.strip()]
    return LockstepError(said[-1] if said else f"{words[0]} ended with code {code} without a word", code)


class Process:
    """The program, and a watcher that ends it in order when Python is gone, whatever Python ended by.

    The watcher holds the reading end of a pipe that nobody writes to. Its other end closes with Python.
    """

    def __init__(self, words: Sequence[str], stdin: int, stderr: int, cwd: Path | None,
                 env: Mapping[str, str] | None) -> None:
        self._held: int | None = None
        try:
            # A session of its own: Ctrl-C reaches Python alone, which then stops the program in order.
            self.child = subprocess.Popen([program(), *words], stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
                                          encoding="utf-8", errors="replace", cwd=cwd,
                                          env={"LOCKSTEP_PYTHON": sys.executable, **os.environ, **(env or {})}, start_new_session=True)
        except (OSError, ValueError, TypeError) as error:
            raise LockstepError(f"{words[0] if words else 'lockstep'} cannot be started: {error}") from None
        watched, self._held = os.pipe()
        self._watcher = subprocess.Popen(["/bin/sh", "-c", f"read -r _; kill -TERM {self.child.pid}"], stdin=watched,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(watched)

    def has_ended(self) -> None:
        """Sends the watcher home; to be called when the program's output has ended and before its number is free."""
        self._watcher.kill()
        self._watcher.wait()
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def terminate(self) -> None:
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)

    def kill_group(self) -> None:
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
