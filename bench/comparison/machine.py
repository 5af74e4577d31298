# SPDX-License-Identifier: Apache-2.0
"""Facts about this machine and what limits a program to fewer instructions than it has."""
import os
import re

# The instructions that matter for speed, the best first, by the names of /proc/cpuinfo.
INSTRUCTIONS = ("amx_bf16", "avx512_bf16", "avx512f", "avx2")

# Ours and PyTorch read these: oneDNN, ATen and MKL each have a dispatcher of their own.
AVX2_ALONE = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def read_machine(cpuinfo, cores):
    """Returns the processor's name, its cores and its instructions, from the text of /proc/cpuinfo."""
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    flags = re.search(r"^flags\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    known = set(flags.group(1).split()) if flags else set()
    return {
        "processor": model.group(1).strip() if model else "unknown",
        "cores": cores,
        "instructions": [name for name in INSTRUCTIONS if name in known],
    }


def this_machine():
    with open("/proc/cpuinfo") as file:
        return read_machine(file.read(), len(os.sched_getaffinity(0)))
