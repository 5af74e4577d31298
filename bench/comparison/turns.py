# SPDX-License-Identifier: Apache-2.0
"""Rounds of a row: its programs in turns between two measurements of the ceiling, repeated if the machine was not quiet."""
from dataclasses import dataclass, field, replace

TOLERANCE = 0.10  # by which the ceilings before and after a round may differ
MAX_TRIES = 4


@dataclass(frozen=True)
class Round:
    """Holds what a round measured: the figures of every contestant, and the ceilings around it in GFLOP/s.

    `taken` tells how: the date, the commit, and the numbers of timed and of untimed steps.
    """

    runs: dict
    before: float
    after: float
    tries: int = 1
    taken: dict = field(default_factory=dict)

    @property
    def difference(self):
        return abs(self.before - self.after) / max(self.before, self.after)

    @property
    def quiet(self):
        return self.difference <= TOLERANCE

    def as_json(self):
        return {"runs": self.runs, "before": self.before, "after": self.after, "tries": self.tries, "taken": self.taken}


def measure_round(names, run, measure_ceiling, say=lambda line: None, taken=None):
    """Returns a quiet round, or after MAX_TRIES the one whose ceilings differ least. `run` takes a contestant's name."""
    least = None
    for attempt in range(1, MAX_TRIES + 1):
        before = measure_ceiling()
        runs = {name: run(name) for name in names}
        found = Round(runs, before, measure_ceiling(), attempt, taken or {})
        if least is None or found.difference < least.difference:
            least = found
        if found.quiet:
            return found
        say(f"the ceiling was {found.before:.0f} before and {found.after:.0f} GFLOP/s after: try {attempt} of {MAX_TRIES}")
    return replace(least, tries=MAX_TRIES)
