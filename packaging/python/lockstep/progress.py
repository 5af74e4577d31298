# SPDX-License-Identifier: Apache-2.0
"""A bar of tqdm for a run, made of the lines that the program prints."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

_STEP = re.compile(r"step (\d+) \| epoch (\d+) +(\d+)%(?:.*?\| loss (\S+))?")


def bar_class() -> Any:
    """Returns tqdm's bar, for notebooks where this is one, or None where tqdm is absent."""
    try:
        return importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return None


class ProgressBar:
    """Shows steps, or epochs where the run ends by these. Other lines stand above the bar."""

    def __init__(self, kind: Any, options: Mapping[str, object]) -> None:
        self._kind, self._bar = kind, None  # type: Any, Any
        steps, epochs = options.get("max_train_steps"), options.get("num_epochs")
        self._unit = "step" if isinstance(steps, (int, float)) or not isinstance(epochs, (int, float)) else "epoch"
        total = steps if self._unit == "step" else epochs
        self._total = total if isinstance(total, (int, float)) else None

    def write(self, line: str) -> None:
        found = _STEP.match(line)
        if found is None:
            self._kind.write(line.rstrip("\n"))
            return
        step, epoch, percent, loss = found.groups()
        done = int(step) if self._unit == "step" else int(epoch) - 1 + int(percent) / 100
        if self._bar is None:
            self._bar = self._kind(total=self._total, initial=done, unit=self._unit)
        self._bar.n = round(done, 2)
        self._bar.refresh()
        if loss is not None:
            self._bar.set_postfix(loss=loss)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
