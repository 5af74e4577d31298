#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compile command of each source, also of those that a build compiles several at once (CMAKE_UNITY_BUILD).

As a program it writes them into FOLDER/compile_commands.json, for clang-tidy -p FOLDER.   tests/compile_commands.py BUILD FOLDER"""
import dataclasses
import json
import os
import re
import shlex
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
# Options that only a file with several sources has (cmake/Warnings.cmake).
OF_SEVERAL = ('-Wno-shadow', '-Wno-subobject-linkage', '-Wno-maybe-uninitialized')


@dataclasses.dataclass
class Command:
    """How a source is compiled."""
    source: str  # path from the root
    folder: str  # where the compiler runs
    words: list[str]  # the compiler and its options, which do not name the source
    together: bool  # whether the build compiles it in a file of CMake's with other sources


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def commands_of(build):
    """The commands of a build's own sources: a list of Command."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        entries = json.load(file)
    commands = []
    for entry in entries:
        path = os.path.join(entry['directory'], entry['file'])
        together = '/Unity/unity_' in path
        words = [word for word in shlex.split(entry['command']) if word != entry['file']]
        words = [word for word in words if not (together and word in OF_SEVERAL)]
        for source in INCLUDE.findall(read(path)) if together else [path]:
            commands.append(Command(os.path.relpath(source, ROOT), entry['directory'], words, together))
    return commands


def main():
    build, folder = sys.argv[1:]
    entries = [{'directory': command.folder, 'file': os.path.join(ROOT, command.source),
                'command': shlex.join([*command.words, os.path.join(ROOT, command.source)])}
               for command in commands_of(build)]
    with open(os.path.join(folder, 'compile_commands.json'), 'w', encoding='utf-8') as file:
        json.dump(entries, file, indent=1)


if __name__ == '__main__':
    main()
