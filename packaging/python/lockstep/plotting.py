# SPDX-License-Identifier: Apache-2.0
"""Curves of runs, where matplotlib is present."""

from __future__ import annotations

import importlib
import os
import pathlib
from typing import Any, Union

from lockstep.errors import LockstepError
from lockstep.metrics import read_metrics

Folder = Union[str, "os.PathLike[str]"]


def _axes() -> Any:
    try:
        return importlib.import_module("matplotlib.pyplot").subplots()[1]
    except ImportError:
        raise LockstepError("lockstep.plot needs matplotlib: pip install matplotlib") from None


def _series(folder: Folder, kind: str, metric: str, over: str) -> tuple[list[float], list[float]]:
    """What is no number (`null`: not finite) is a gap in the curve."""
    lines = [line for line in read_metrics(folder, kind) if metric in line and line.get(over) is not None]
    return [line[over] for line in lines], [float("nan") if line[metric] is None else line[metric] for line in lines]


def _names(folder: Folder) -> str:
    lines = read_metrics(folder, "")
    return ", ".join(sorted({name for line in lines for name, value in line.items() if isinstance(value, float)}))


def plot(*model_files: Folder, metric: str = "loss", over: str = "step", axes: Any = None) -> Any:
    """Draws a metric of one or several runs, and returns the axes of matplotlib.

    Training is a thin line and validation has points. `metric` and `over` are names of metrics.jsonl, as `tokens_per_s`
    over `epoch`. Give `axes` to draw into those of a figure of your own.
    """
    if not model_files:
        raise LockstepError("plot has no model folder; give one or several")
    curves = [(folder, kind, *_series(folder, kind, metric, over)) for folder in model_files for kind in ("train", "valid")]
    drawn = axes
    for number, folder in enumerate(model_files):
        mine = [curve for curve in curves[2 * number:2 * number + 2] if curve[2]]
        if not mine:
            raise LockstepError(f"{folder}: no line has {metric} and {over}; metrics.jsonl has {_names(folder) or 'no line yet'}")
        if drawn is None:
            drawn = _axes()
        for _, kind, xs, ys in mine:
            style = {"linewidth": 1.0} if kind == "train" else {"marker": "o", "linestyle": "--"}
            drawn.plot(xs, ys, color=f"C{number % 10}", label=f"{pathlib.Path(folder).name} {kind}", **style)
    drawn.set_xlabel(over)
    drawn.set_ylabel(metric)
    drawn.legend()
    return drawn
