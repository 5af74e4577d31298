# SPDX-License-Identifier: Apache-2.0
"""Finds the program, and becomes it: the commands that pip installs."""

import os
import pathlib
import shutil
import sys
from typing import NoReturn

from lockstep.errors import LockstepError


def program() -> str:
    """Returns the path of the program: of this package, else the one that LOCKSTEP_PROGRAM names, else the one on PATH."""
    own = pathlib.Path(__file__).parent / "_dist/bin/lockstep"
    if own.is_file():
        return str(own)
    named = os.environ.get("LOCKSTEP_PROGRAM")
    found = shutil.which(named or "lockstep")
    if found is None:
        where = f"LOCKSTEP_PROGRAM names {named}, which" if named else "this package has no program, and lockstep on PATH"
        raise LockstepError(f"{where} is not found; install the wheel of Lockstep, or add build/bin to PATH")
    return found


def _become(*words: str) -> NoReturn:
    try:
        path = program()
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
