#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a tree of cmake/portable.sh and the Python package into a wheel: packaging/wheel.sh calls it.

    packaging/make_wheel.py TREE FOLDER

A wheel is a zip file with a list of hashes; see the binary distribution format of PyPA.
"""
import base64
import email.message
import hashlib
import pathlib
import re
import stat
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
# The tree brings its own loader and glibc, and starts by them where the system's glibc is older (cmake/portable/start.sh).
TAG = "py3-none-manylinux_2_31_x86_64"
COMMANDS = ("lockstep", "distributed_train", "distributed_eval", "distributed_launch", "multiprocessing_train",
            "multiprocessing_eval")
SHARED = (("share", "bash-completion"), ("share", "fish"), ("share", "man"), ("share", "zsh"))


def version():
    return re.search(r"project\(\s*\w+\s+VERSION\s+([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def metadata():
    fields = email.message.Message()
    fields["Metadata-Version"] = "2.1"
    # PyPI has a package lockstep of somebody else.
    fields["Name"] = "lockstep-train"
    fields["Version"] = version()
    fields["Summary"] = "Distributed training of transformers: one program, from a laptop to a Slurm cluster"
    fields["License"] = "Apache-2.0"
    fields["Requires-Python"] = ">=3.9"
    fields["Requires-Dist"] = "numpy"
    fields["Requires-Dist"] = "h5py; extra == 'data'"
    fields["Provides-Extra"] = "data"
    fields["Description-Content-Type"] = "text/markdown"
    # Links lead from page to page of the documents.
    fields.set_payload(re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", (ROOT / "docs/python.md").read_text()))
    return fields.as_string()


def info_folder():
    return f"lockstep_train-{version()}.dist-info"


def info_files():
    """Returns (name, bytes) of what describes the wheel, but for its list of files."""
    commands = "".join(f"{name} = lockstep.command:{name}\n" for name in COMMANDS)
    yield "METADATA", metadata().encode()
    yield "WHEEL", f"Wheel-Version: 1.0\nGenerator: lockstep\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    yield "entry_points.txt", f"[console_scripts]\n{commands}".encode()
    yield "LICENSE", (ROOT / "LICENSE").read_bytes()


def contents(tree):
    """Returns (name in the wheel, bytes, executable) of all files but the list."""
    for path in sorted((HERE / "python/lockstep").iterdir()):
        if path.suffix in (".py", ".typed"):
            yield f"lockstep/{path.name}", path.read_bytes(), False
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree)
        # pip knows no links. The programs' names are commands of Python, and what else is a link is a library.
        if not path.is_file() or (path.is_symlink() and name.parts[0] != "lib"):
            continue
        # Where shells and man look for what belongs to the commands of an environment.
        own = name.parts[:2] in SHARED
        place = f"lockstep_train-{version()}.data/data" if own else "lockstep/_dist"
        yield f"{place}/{name}", path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR)
    for name, content in info_files():
        yield f"{info_folder()}/{name}", content, False


def add(archive, name, content, executable):
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def main():
    if len(sys.argv) != 3 or not (pathlib.Path(sys.argv[1]) / "libexec/lockstep").is_file():
        sys.exit("usage: make_wheel.py TREE FOLDER, where TREE is what cmake/portable.sh made")
    tree, folder = (pathlib.Path(word) for word in sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"lockstep_train-{version()}-{TAG}.whl"
    lines = []
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content, executable in contents(tree):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}\n")
            add(archive, name, content, executable)
        record = f"{info_folder()}/RECORD"
        add(archive, record, ("".join(lines) + f"{record},,\n").encode(), False)
    print(wheel)


if __name__ == "__main__":
    main()
