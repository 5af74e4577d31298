# SPDX-License-Identifier: Apache-2.0
"""Starts Lockstep's programs from Python and reads what they write. All work is done by the program itself."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockstep.data import Dataset, Row
    from lockstep.errors import LockstepError
    from lockstep.metrics import read_metrics
    from lockstep.plotting import plot
    from lockstep.programs import generate, run, write_dataset
    from lockstep.torch_data import TorchDataset
    from lockstep.training import Run, launch, runs
    from lockstep.weights import load

__all__ = ["Dataset", "LockstepError", "Row", "Run", "TorchDataset", "generate", "launch", "load", "plot", "read_metrics",
           "run", "runs", "write_dataset"]

_MODULES = {"Dataset": "data", "Row": "data", "LockstepError": "errors", "read_metrics": "metrics", "plot": "plotting",
            "TorchDataset": "torch_data", "Run": "training", "launch": "training", "runs": "training",
            "generate": "programs", "run": "programs", "write_dataset": "programs", "load": "weights"}


def __getattr__(name: str) -> object:
    """Imports what is asked for: the commands need neither NumPy nor the time that it takes."""
    if name not in _MODULES:
        raise AttributeError(f"module 'lockstep' has no attribute {name!r}")
    return getattr(importlib.import_module(f"lockstep.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
