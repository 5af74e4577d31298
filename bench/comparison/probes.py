# SPDX-License-Identifier: Apache-2.0
"""Other ways to observe a run: the time in its products by oneDNN's own log, and the time at OpenMP's barriers by perf."""
import re

# bench_train_step measures its ceiling with this product, which is no part of a step.
CEILING_PRODUCT = "2048x2048:2048x2048"
PERF = ("perf", "record", "--quiet", "-F", "499", "-o")
EXECUTED = re.compile(r"^(?:onednn|dnnl)_verbose,(?:[\d.]+,)?exec,cpu,(?P<kind>\w+),.*,(?P<shape>[^,]*),(?P<ms>[\d.e+-]+)$")


def products_ms(output, steps):
    """Returns the milliseconds of a step's matrix products, from what ONEDNN_VERBOSE=1 prints over `steps` steps."""
    total, seen = 0.0, 0
    for line in output.splitlines():
        executed = EXECUTED.match(line)
        if executed and executed["kind"] in ("matmul", "inner_product") and not executed["shape"].startswith(CEILING_PRODUCT):
            total += float(executed["ms"])
            seen += 1
    if not seen:
        raise ValueError("oneDNN's log names no products: is it built without ONEDNN_VERBOSE?")
    return total / steps


def barrier_share(report):
    """Returns the share of a run's time that its threads spend in libgomp, from `perf report --sort dso --stdio`.

    The run must have OMP_WAIT_POLICY=active: threads that sleep at a barrier take no samples.
    """
    shares = re.findall(r"^\s*([\d.]+)%\s+(\S+)", report, re.MULTILINE)
    if not shares:
        raise ValueError("perf's report has no lines with shares")
    return sum(float(share) for share, place in shares if place.startswith("libgomp")) / 100
