# SPDX-License-Identifier: Apache-2.0
"""Another way to observe a run: where perf finds its threads, in products or at OpenMP's barriers.

The run must have OMP_WAIT_POLICY=active: threads that sleep at a barrier take no samples.
"""
import re

PERF = ("perf", "record", "--quiet", "-F", "499", "-o")
# oneDNN compiles its products while the program runs, so perf finds no file for them.
PRODUCTS = ("[JIT]", "libdnnl")
BARRIERS = ("libgomp",)


def share_of(places, report):
    """Returns the share of a run's time that its threads spend in `places`, from `perf report --sort dso --stdio`."""
    shares = re.findall(r"^\s*([\d.]+)%\s+(\S+)", report, re.MULTILINE)
    found = [float(share) for share, place in shares if place.startswith(places)]
    if not found:
        raise ValueError(f"perf's report has no line of {' or '.join(places)}")
    return sum(found) / 100
