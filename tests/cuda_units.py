#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the sources of the CUDA backend that nvcc has not compiled as they are.

    tests/cuda_units.py                     prints these sources
    tests/cuda_units.py --compile BUILD     compiles them in BUILD, a folder that CMake has configured with the backend
    tests/cuda_units.py --record BUILD      compiles them and writes their checksums into tests/cuda_checked.txt

A source belongs to the backend if its folder is named cuda or nccl, or if its name speaks of CUDA. Its checksum is that of its text,
of all headers of the project that it includes, and of CMake's files of the backend. A linker does not run: the emulated GPU's tests
link the same functions.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKED = ROOT / "tests/cuda_checked.txt"
FLOORS = ("runtime", "model", "bench")
FLAGS = ("cmake/Cuda.cmake", "cmake/Cudnn.cmake")
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def is_unit(path):
    """Whether this is a source of the backend, and not one that stands for something where that is missing."""
    if path.suffix not in (".cu", ".cpp") or re.search(r"(^|_)(no|none)(_|\.)", path.name):
        return False
    return path.suffix == ".cu" or bool({"cuda", "nccl"} & set(path.parts)) or re.search(r"(^|_)(cuda|cudnn|nccl)(_|\.)", path.name)


def units():
    """The backend's sources, relative to the root, in their order."""
    files = (path.relative_to(ROOT) for floor in FLOORS for path in (ROOT / floor).rglob("*") if path.is_file())
    return sorted(path for path in files if is_unit(path))


class Checksums:
    """Checksums of sources with what they include. Each file is read once."""

    def __init__(self):
        self.files = {}

    def read(self, path):
        """The checksum of a file's text, and what it includes; nothing for what is not the project's."""
        if path not in self.files:
            text = (ROOT / path).read_bytes() if (ROOT / path).is_file() else None
            names = INCLUDE.findall(text.decode()) if text is not None else []
            included = [place for name in names for place in (pathlib.Path(name), path.parent / name)]
            self.files[path] = text and (hashlib.sha256(text).digest(), included)
        return self.files[path]

    def of(self, unit):
        seen, waiting = {}, [unit, *map(pathlib.Path, FLAGS)]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            found = self.read(path)
            seen[path] = found and found[0]
            waiting += found[1] if found else []
        total = hashlib.sha256()
        for path, digest in sorted(seen.items()):
            if digest:
                total.update(f"{path}\0".encode() + digest)
        return total.hexdigest()[:32]


def recorded():
    lines = CHECKED.read_text().splitlines() if CHECKED.is_file() else []
    return dict(reversed(line.split(maxsplit=1)) for line in lines if len(line.split()) == 2)


def record(done, checksums):
    """Keeps the lines of units that are there and have not been compiled now."""
    lines = {path: checksum for path, checksum in recorded().items() if pathlib.Path(path) in checksums}
    lines.update((str(unit), checksums[unit]) for unit in done)
    CHECKED.write_text("".join(f"{checksum} {path}\n" for path, checksum in sorted(lines.items())))


def objects_of(build):
    """The object that the build makes of each source. Those of the emulated GPU are not meant."""
    objects = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        name = re.search(r" -o (\S+)", entry["command"]).group(1)
        if path.is_relative_to(ROOT) and "emulat" not in name:
            objects.setdefault(path.relative_to(ROOT), name)
    return objects


def make(build, targets):
    """Whether all of the targets were made; those that can be made are made in any case."""
    command = ["cmake", "--build", build, "--target", *targets, "--", "--quiet", "-k", "0"]
    return subprocess.run(command, check=False).returncode == 0


def compile_units(build, wanted):
    """Compiles what the build has of the wanted units. Returns those that compiled, and whether all of the build's did."""
    objects = objects_of(build)
    for unit in wanted:
        if unit not in objects:
            print(f"{unit}: this build leaves it out")
    there = [unit for unit in wanted if unit in objects]
    if not there or make(build, [objects[unit] for unit in there]):
        return there, True
    # What has compiled is not compiled again.
    return [unit for unit in there if make(build, [objects[unit]])], False


def main():
    checksums = Checksums()
    of = {unit: checksums.of(unit) for unit in units()}
    old = recorded()
    wanted = [unit for unit in of if old.get(str(unit)) != of[unit]]
    if not sys.argv[1:]:
        print(*wanted, sep="\n", end="\n" if wanted else "")
        return 0
    if len(sys.argv) != 3 or sys.argv[1] not in ("--compile", "--record"):
        print("usage: tests/cuda_units.py [--compile BUILD | --record BUILD]", file=sys.stderr)
        return 2
    done, whole = compile_units(pathlib.Path(sys.argv[2]), wanted)
    if sys.argv[1] == "--record":
        record(done, of)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
