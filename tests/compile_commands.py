#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compile command of each source, also of those that a build compiles several at once (CMAKE_UNITY_BUILD), and the choice
of files that a test looks at.

As a program it writes the commands into FOLDER/compile_commands.json, for clang-tidy -p FOLDER, and prints the sources of the
program that are in turn, one in SHARE.   tests/compile_commands.py BUILD FOLDER SHARE"""
import dataclasses
import json
import os
import re
import shlex
import sys
import zlib

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
FLOORS = ('runtime', 'model', 'data', 'launcher', 'bench', 'tests')
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
            source = os.path.relpath(os.path.realpath(source), ROOT)
            if source.startswith(FLOORS):
                commands.append(Command(source, entry['directory'], words, together))
    return commands


def all_files(endings):
    """The project's files whose names end so, by path from the root."""
    for floor in FLOORS:
        for folder, _, names in os.walk(os.path.join(ROOT, floor)):
            yield from (os.path.relpath(os.path.join(folder, name), ROOT) for name in sorted(names) if name.endswith(endings))


class Turns:
    """Chooses one of so many files. Each change of any source or header makes another choice, so that in time each file is
    chosen, also one that the change of another file breaks; without a change the choice stays."""

    def __init__(self):
        self._state = 0
        for path in sorted(all_files(('.cpp', '.hpp', '.h', '.cu'))):
            self._state = zlib.crc32(read(path).encode(), self._state)

    def has(self, path, share):
        return zlib.crc32(path.encode(), self._state) % share == 0


def main():
    build, folder, share = sys.argv[1:]
    commands = commands_of(build)
    entries = [{'directory': command.folder, 'file': os.path.join(ROOT, command.source),
                'command': shlex.join([*command.words, os.path.join(ROOT, command.source)])} for command in commands]
    with open(os.path.join(folder, 'compile_commands.json'), 'w', encoding='utf-8') as file:
        json.dump(entries, file, indent=1, ensure_ascii=False)
    turns = Turns()
    for path in sorted({command.source for command in commands}):
        if path.endswith('.cpp') and not path.startswith('tests') and turns.has(path, int(share)):
            print(path)


if __name__ == '__main__':
    main()
