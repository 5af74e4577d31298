# SPDX-License-Identifier: Apache-2.0
"""Finds the program, and becomes it: the commands that pip installs."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
from typing import NoReturn

from lockstep.errors import LockstepError


def _is_program(path: str) -> bool:
    """Whether the file is the program itself and not one of the commands of this module."""
    try:
        with open(path, "rb") as file:
            return b"lockstep.command" not in file.read(1000)
    except OSError:
        return False


def program() -> str:
    """Returns the path of the program: the one that LOCKSTEP_PROGRAM names, else this package's, else the one on PATH."""
    named = os.environ.get("LOCKSTEP_PROGRAM")
    if named:
        found = shutil.which(named)
        if found is None:
            raise LockstepError(f"LOCKSTEP_PROGRAM names {named}, which is no program; give the path of build/bin/lockstep")
        return os.path.abspath(found)
    own = pathlib.Path(__file__).resolve().parent / "_dist/bin/lockstep"
    if os.access(own, os.X_OK):
        return str(own)
    for folder in os.get_exec_path():
        found = shutil.which("lockstep", path=folder)
        if found is not None and _is_program(found):
            return os.path.abspath(found)
    raise LockstepError("this package has no program, and lockstep on PATH is not found; install the wheel of Lockstep "
                        "by pip, or add build/bin to PATH")


def _become(*words: str) -> NoReturn:
    try:
        path = program()
        # What sends metrics to trackers beside training is a process of this Python.
        os.environ.setdefault("LOCKSTEP_PYTHON", sys.executable)
        os.execv(path, [path, *words, *sys.argv[1:]])
    except (LockstepError, OSError) as error:
        print(f"lockstep: {error}", file=sys.stderr)
        sys.exit(2)


def lockstep() -> NoReturn:
    _become()


def distributed_train() -> NoReturn:
    _become("distributed_train")


def distributed_eval() -> NoReturn:
    _become("distributed_eval")


def distributed_launch() -> NoReturn:
    _become("distributed_launch")


def multiprocessing_train() -> NoReturn:
    _become("multiprocessing_train")


def multiprocessing_eval() -> NoReturn:
    _become("multiprocessing_eval")
