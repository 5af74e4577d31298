# SPDX-License-Identifier: Apache-2.0
"""Other work on the machine, while a program is measured."""
import contextlib
import os
import subprocess
import sys

# Nobody ends the loops of a comparison that was killed, so each looks from time to time whether it has a parent.
LOOP = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(10 ** 6):
        pass
"""


@contextlib.contextmanager
def busy_loops(count):
    """Runs so many processes that compute without an end, each on one core."""
    loops = [subprocess.Popen([sys.executable, "-c", LOOP, str(os.getpid())]) for _ in range(count)]
    try:
        yield loops
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
