#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tells from a checksum whether nvcc has to compile the CUDA backend again.

    tests/cuda_sources.py            prints the checksum of all that the backend is compiled from
    tests/cuda_sources.py --check    exit code 0 if tests/cuda_checked.txt has it, else 1
    tests/cuda_sources.py --list     prints the files

The backend's sources are those in folders named cuda or nccl and those whose names speak of CUDA or GPUs; what they include belongs to
them, and so do CMake's files of the backend. tests/long.sh writes the checksum after nvcc has compiled them and the tests have passed.
"""
import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKED = ROOT / "tests/cuda_checked.txt"
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def is_root(path):
    """Whether the file is the backend's own."""
    if path.suffix == ".cu":
        return True
    if path.suffix not in (".cpp", ".hpp"):
        return path.name == "CMakeLists.txt" and {"cuda", "nccl"} & set(path.parts)
    return bool({"cuda", "nccl"} & set(path.parts)) or re.search(r"(^|_)(cuda|cudnn|nccl)(_|\.|$)", path.name)


def sources():
    """All files, relative to the root, in their order."""
    waiting = [pathlib.Path("cmake/Cuda.cmake"), pathlib.Path("cmake/Cudnn.cmake")]
    for floor in ("runtime", "model", "launcher", "bench"):
        waiting += [path.relative_to(ROOT) for path in (ROOT / floor).rglob("*")
                    if path.is_file() and is_root(path.relative_to(ROOT))]
    seen = set()
    while waiting:
        path = waiting.pop()
        if path in seen or not (ROOT / path).is_file():
            continue
        seen.add(path)
        for name in INCLUDE.findall((ROOT / path).read_text()):
            waiting += [pathlib.Path(name), path.parent / name]
    return sorted(seen)


def checksum():
    total = hashlib.sha256()
    for path in sources():
        total.update(f"{path}\0".encode() + (ROOT / path).read_bytes() + b"\0")
    return total.hexdigest()


def main():
    if sys.argv[1:] == ["--list"]:
        print(*sources(), sep="\n")
    elif sys.argv[1:] == ["--check"]:
        return 0 if CHECKED.is_file() and CHECKED.read_text().split()[:1] == [checksum()] else 1
    elif not sys.argv[1:]:
        print(checksum())
    else:
        print("usage: tests/cuda_sources.py [--check|--list]", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
