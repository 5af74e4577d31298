# SPDX-License-Identifier: Apache-2.0
"""The numbers that a run writes into its model folder."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

from lockstep.errors import LockstepError

_KINDS = ("train", "valid", "test", "")


def read_metrics(model_file: str | os.PathLike[str], kind: str = "train") -> list[dict[str, Any]]:
    """Returns the lines of `metrics.jsonl` of that kind (`train`, `valid`, `test`), or all if it is empty.

    `pandas.DataFrame(read_metrics("MODEL"))` is a table. A line that a running program has not yet written whole is
    left out.
    """
    if kind not in _KINDS:
        raise LockstepError(f"there are no lines of the kind {kind!r}; the kinds are train, valid, test and '' for all")
    path = pathlib.Path(model_file) / "metrics.jsonl"
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise LockstepError(f"{path}: cannot be read ({error.strerror}); give the folder of --model-file") from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
            if not kind or values["kind"] == kind:
                found.append(dict(values))
        except (ValueError, TypeError, KeyError, RecursionError):
            raise LockstepError(f"{path}:{number}: is no line of metrics") from None
    return found
