#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes of packaging/ name what cmake/packages.txt names, and linters find nothing in them where Python has these.

    recipes_test.py BUILD
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
# What Spack calls Debian's packages; g++ and pkg-config are its `cxx` and `pkgconfig`.
SPACK = {"g++": "cxx", "cmake": "cmake", "ninja-build": "ninja", "pkg-config": "pkgconfig",
         "libboost-program-options-dev": "boost", "libdnnl-dev": "onednn", "libedit-dev": "libedit", "libgloo-dev": "gloo",
         "libhdf5-dev": "hdf5", "libopenmpi-dev": "mpi", "libpcre2-dev": "pcre2", "libsentencepiece-dev": "sentencepiece",
         "libssl-dev": "openssl", "libstemmer-dev": "libstemmer", "libxxhash-dev": "xxhash",
         "nlohmann-json3-dev": "nlohmann-json", "openmpi-bin": "mpi", "zlib1g-dev": "zlib-api"}


class Recipes(unittest.TestCase):
    def test_spack_has_the_packages_of_debian(self):
        listed = [one for one in (ROOT / "cmake/packages.txt").read_text().split("\n") if one and one[0] != "#"]
        text = (PACKAGING / "spack/lockstep/package.py").read_text()
        named = set(re.findall(r'depends_on\("([a-z0-9-]+)', text))
        self.assertEqual(named - {"cuda"}, {SPACK[one] for one in listed})
        compile(text, "package.py", "exec")
        compile((PACKAGING / "spack/libstemmer/package.py").read_text(), "package.py", "exec")

    def test_images_take_the_packages_of_this_build(self):
        docker, apptainer = (PACKAGING / "Dockerfile").read_text(), (PACKAGING / "lockstep.def").read_text()
        self.assertIn("cmake/install-packages.sh cmake/packages.txt", docker)
        self.assertIn("cpack -G DEB", docker)
        self.assertIn("build/lockstep*.deb", apptainer)
        for path in re.findall(r"^COPY (?!--from)(.*) \S+$", docker, re.M):
            for name in path.split():
                self.assertTrue((ROOT / name).exists(), name)

    @unittest.skipUnless(shutil.which("hadolint"), "hadolint is not installed")
    def test_hadolint(self):
        # Versions of Debian's packages are those of the image.
        done = subprocess.run(["hadolint", "--ignore", "DL3008", PACKAGING / "Dockerfile"], capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.returncode), ("", 0))

    @unittest.skipUnless(shutil.which("tclsh"), "tclsh is not installed")
    def test_module(self):
        """The module's paths follow from where its file lies."""
        script = ("foreach name {prepend-path conflict module-whatis} {proc $name args \"puts \\[list $name {*}\\$args\\]\"}\n"
                  "set ModulesCurrentModulefile /opt/lock/share/modulefiles/lockstep/0.1.0\nsource [lindex $argv 0]\n")
        done = subprocess.run(["tclsh", "/dev/stdin", PACKAGING / "modulefile"], input=script, capture_output=True, text=True, check=True)
        self.assertIn("prepend-path PATH /opt/lock/bin\n", done.stdout)

    def test_pip_configures_anew_where_that_failed(self):
        sys.path.insert(0, str(PACKAGING))
        import build_backend

        for made, begins in (("CMakeCache.txt", "--fresh"), ("build.ninja", "--build")):
            with tempfile.TemporaryDirectory() as name, mock.patch.object(build_backend, "_cmake") as cmake:
                (pathlib.Path(name) / made).touch()
                build_backend._build(pathlib.Path(name))
                self.assertEqual(cmake.call_args_list[0].args[0], begins)


if __name__ == "__main__":
    unittest.main()
