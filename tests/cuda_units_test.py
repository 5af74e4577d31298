#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cuda_units.py asks nvcc for what changed, and for nothing else."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

import cuda_units

FILES = {
    "cmake/Cuda.cmake": "flags",
    "runtime/kernels/norm.hpp": "contract",
    "runtime/kernels/cuda/norm.cu": '#include "runtime/kernels/norm.hpp"\n#include "rows.hpp"\n',
    "runtime/kernels/cuda/rows.hpp": "rows",
    "runtime/kernels/cuda/sgd.cu": "sgd",
    "runtime/kernels/cpu/norm.cpp": "not the backend's",
    "model/devices/cuda_model.cpp": "model",
    "runtime/comm/nccl/nccl_session.cpp": "session",
    "bench/no_nccl_ranks.cpp": "stands for what is missing",
}
BACKEND = ["model/devices/cuda_model.cpp", "runtime/comm/nccl/nccl_session.cpp", "runtime/kernels/cuda/norm.cu",
           "runtime/kernels/cuda/sgd.cu"]


class CudaUnitsTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tests").mkdir()
        for path, text in FILES.items():
            self.write(path, text)
        for name, value in (("ROOT", self.root), ("CHECKED", self.root / "tests/cuda_checked.txt")):
            self.addCleanup(setattr, cuda_units, name, getattr(cuda_units, name))
            setattr(cuda_units, name, value)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run_program(self, *words):
        before, sys.argv = sys.argv, ["cuda_units.py", *words]
        try:
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
                return cuda_units.main(), out.getvalue().split()
        finally:
            sys.argv = before

    def record_all(self):
        checksums = cuda_units.Checksums()
        of = {unit: checksums.of(unit) for unit in cuda_units.units()}
        cuda_units.record(list(of), of)

    def test_all_sources_of_the_backend_are_new_at_first_and_none_after_they_are_recorded(self):
        self.assertEqual(self.run_program(), (0, BACKEND))
        self.record_all()
        self.assertEqual(self.run_program(), (0, []))

    def test_a_header_changes_those_that_include_it_and_a_flag_changes_all(self):
        self.record_all()
        self.write("runtime/kernels/norm.hpp", "another contract")
        self.assertEqual(self.run_program()[1], ["runtime/kernels/cuda/norm.cu"])
        self.write("runtime/kernels/norm.hpp", FILES["runtime/kernels/norm.hpp"])
        self.write("runtime/kernels/cuda/rows.hpp", "other rows")
        self.assertEqual(self.run_program()[1], ["runtime/kernels/cuda/norm.cu"])
        self.write("cmake/Cuda.cmake", "other flags")
        self.assertEqual(self.run_program()[1], BACKEND)

    def test_a_source_that_does_not_compile_is_not_recorded_and_fails(self):
        build = self.root / "build-cuda"  # which is no build: each command of CMake fails
        build.mkdir()
        entry = {"directory": str(self.root), "file": "runtime/kernels/cuda/sgd.cu", "command": "nvcc -o sgd.o"}
        (build / "compile_commands.json").write_text(json.dumps([entry]))
        self.record_all()
        self.write("runtime/kernels/cuda/sgd.cu", "a mistake")
        self.assertEqual(self.run_program("--record", str(build))[0], 1)
        self.assertEqual(self.run_program()[1], ["runtime/kernels/cuda/sgd.cu"])

    def test_other_words_are_refused(self):
        self.assertEqual(self.run_program("--list")[0], 2)


if __name__ == "__main__":
    unittest.main()
