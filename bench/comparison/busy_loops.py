# SPDX-License-Identifier: Apache-2.0
"""Other work on the machine, while a program is measured."""
import contextlib
import subprocess
import sys


@contextlib.contextmanager
def busy_loops(count):
    """Runs so many processes that compute without an end, each on one core."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield loops
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
