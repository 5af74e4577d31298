# SPDX-License-Identifier: Apache-2.0
"""What pip calls for `pip install .`: it builds the program with CMake and packs what packaging/wheel.sh packs (PEP 517).

`--config-settings=build-dir=FOLDER` names the folder of the build. A build that is there is used and brought up to date.
"""
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import make_wheel

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PACKAGES = "cmake/install-packages.sh cmake/packages.txt"


def _fail(message):
    sys.exit(f"lockstep: {message}")


def _has_cmake():
    try:
        told = subprocess.run(["cmake", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    found = re.search(r"(\d+)\.(\d+)", told)
    return found is not None and (int(found[1]), int(found[2])) >= (3, 25)


def get_requires_for_build_wheel(config_settings=None):
    """CMake and Ninja come from PyPI where the system has none; the compiler and the libraries are the system's."""
    return ([] if _has_cmake() else ["cmake>=3.25"]) + ([] if shutil.which("ninja") else ["ninja"])


def _cmake(*words):
    done = subprocess.run(["cmake", *words], cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding="utf-8", errors="replace")
    if done.returncode != 0:
        print("\n".join(done.stdout.splitlines()[-30:]), file=sys.stderr)
        _fail(f"the build failed (cmake {' '.join(words)}); it needs the packages that {PACKAGES} installs on Debian 12")
    return done.stdout


def _build(folder):
    if not any((folder / name).is_file() for name in ("build.ninja", "Makefile")):
        # Where configuring failed, the cache remembers what was missing.
        _cmake("--fresh", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLOCKSTEP_TESTS=OFF",
               "-DCMAKE_UNITY_BUILD=ON")
    _cmake("--build", str(folder), "--target", "lockstep")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        _fail("a wheel is for x86-64 Linux; on another machine build by CMake (CONTRIBUTING.md)")
    folder = (ROOT / (config_settings or {}).get("build-dir", "build")).resolve()
    _build(folder)
    done = subprocess.run([str(HERE / "wheel.sh"), str(folder), wheel_directory], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        _fail("packaging/wheel.sh failed, for the reason above")
    return pathlib.Path(done.stdout.strip().splitlines()[-1]).name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Tells pip what the wheel needs before the minutes that it takes to build."""
    name = make_wheel.info_folder()
    for file, content in make_wheel.info_files():
        path = pathlib.Path(metadata_directory) / name / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return name


def _sources():
    """The files of the tree that Git knows; in an unpacked source archive all but what was built."""
    if (ROOT / ".git").exists():
        done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
        return sorted(os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return sorted(str(path) for path in paths if not re.match(r"build[^/]*/|dist/|PKG-INFO", str(path)))


def build_sdist(sdist_directory, config_settings=None):
    name = f"lockstep_train-{make_wheel.version()}"
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in _sources():
            archive.add(ROOT / path, f"{name}/{path}", recursive=False)
        content = make_wheel.metadata().encode()
        entry = tarfile.TarInfo(f"{name}/PKG-INFO")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return f"{name}.tar.gz"
