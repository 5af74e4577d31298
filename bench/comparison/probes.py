# SPDX-License-Identifier: Apache-2.0
"""Another way to observe a run: where perf finds its threads, in products or at OpenMP's barriers.

The run must have OMP_WAIT_POLICY=active: threads that sleep at a barrier take no samples.
"""
import re

PERF = ("perf", "record", "--quiet", "-F", "499", "-o")
# oneDNN compiles its products while the program runs, so perf finds no file for them.
PRODUCTS = ("[JIT]", "libdnnl")
BARRIERS = ("libgomp",)
# Lockstep's own products, and the packing of their factors, which oneDNN's contain as well. All functions of avx2 do one or the other.
OWN_PRODUCTS = tuple(f"lockstep::kernels::cpu::{name}" for name in ("multiply_tile", "pack_panels", "pack_transposed", "avx2::"))


def share_of(places, report):
    """Returns the share of a run's time that its threads spend in `places`, from `perf report --sort dso --stdio`."""
    shares = re.findall(r"^\s*([\d.]+)%\s+(\S+)", report, re.MULTILINE)
    found = [float(share) for share, place in shares if place.startswith(places)]
    if not found:
        raise ValueError(f"perf's report has no line of {' or '.join(places)}")
    return sum(found) / 100


def share_of_functions(names, report):
    """Returns the share of a run's time in functions whose names begin so, from `perf report --sort symbol --stdio`; 0 without any."""
    shares = re.findall(r"^\s*([\d.]+)%\s+\[.\] (?:void )?(\S+)", report, re.MULTILINE)
    return sum(float(share) for share, name in shares if name.startswith(names)) / 100
