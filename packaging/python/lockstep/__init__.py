# SPDX-License-Identifier: Apache-2.0
"""Starts Lockstep's programs from Python and reads what they write. All work is done by the program itself."""

from lockstep.data import Dataset, Row
from lockstep.errors import LockstepError
from lockstep.files import load, read_metrics
from lockstep.programs import Run, generate, launch, run, write_dataset

__all__ = ["Dataset", "LockstepError", "Row", "Run", "generate", "launch", "load", "read_metrics", "run",
           "write_dataset"]
