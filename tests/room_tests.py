#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of rooms and of the rooms that include them, as commands.

Which room includes which, the sources say; which program holds a test, the build's compile commands say; how a program is
started, ctest says. A test belongs to the room that its folder below tests/ has the name of. Of the rooms that include, only
the unit tests count: the others start whole programs, and tests/run.sh runs them.
    tests/room_tests.py BUILD ROOM...     ROOM is a line of cmake/rooms.txt, or a file in such a folder
Prints for each program: its target, a tab, the shell's command. Exit code 2 with one line if there is no such room."""
import collections
import json
import os
import re
import shlex
import subprocess
import sys

from compile_commands import ROOT, commands_of, read
from layers_test import included, room_of, sources

TARGET = re.compile(r'CMakeFiles/([^/]+)\.dir/')


def room_named(word, rooms):
    """The room that a word of the command line means, or None."""
    path = os.path.relpath(os.path.realpath(word), ROOT)
    return path if path in rooms else room_of(path, rooms) or None


def users_of(asked, rooms):
    """The rooms with a file that includes one of theirs."""
    users = set()
    for path in sources(ROOT):
        if any(room_of(include, rooms) in asked for include in included(read(path))):
            users.add(room_of(path, rooms))
    return users - asked - {''}


def tested_folders(build, rooms):
    """For each program, the folders of its tests that have a room's name."""
    folders = collections.defaultdict(set)
    for command in commands_of(build):
        target = TARGET.search(' '.join(command.words))
        room = os.path.dirname(command.source).removeprefix('tests/')
        if target and command.source.startswith('tests/') and command.source.endswith('_test.cpp') and room in rooms:
            folders[target.group(1)].add(room)
    return folders


def registered_tests(build):
    """ctest's tests of built programs: (program's name, words of the command, settings of the environment, labels)."""
    listed = subprocess.run(['ctest', '--test-dir', build, '--show-only=json-v1'], check=True, capture_output=True, text=True)
    for test in json.loads(listed.stdout)['tests']:
        words = test.get('command', [''])
        properties = {entry['name']: entry['value'] for entry in test['properties']}
        if os.path.dirname(words[0]) == os.path.join(os.path.realpath(build), 'bin'):
            yield os.path.basename(words[0]), words, properties.get('ENVIRONMENT', []), properties.get('LABELS', [])


def commands(build, asked, rooms):
    users, folders = users_of(asked, rooms), tested_folders(build, rooms)
    for program, words, settings, labels in registered_tests(build):
        wanted = folders[program] & (asked | users if 'unit' in labels else asked)
        if wanted:
            chosen = '-sf=' + ','.join(f'*/tests/{room}/*_test.cpp' for room in sorted(wanted))
            words = [os.path.relpath(words[0], ROOT), *words[1:], chosen]
            yield f'{program}\t{shlex.join([*(["env", *settings] if settings else []), *words])}'


def main():
    build, words = sys.argv[1], sys.argv[2:]
    rooms = read('cmake/rooms.txt').split()
    asked = {word: room_named(word, rooms) for word in words}
    for word, room in asked.items():
        if room is None:
            near = [room for room in rooms if room.startswith(word.rstrip('/') + '/')]
            print(f'{word}: there is no such room; ' +
                  (f'below it are {" ".join(near)}' if near else 'cmake/rooms.txt has one on each line'), file=sys.stderr)
            return 2
    lines = list(commands(build, set(asked.values()), rooms))
    if not lines:
        print(f'{" ".join(words)}: no program of {build} tests it or a room that includes it', file=sys.stderr)
        return 2
    print('\n'.join(lines))
    return 0


if __name__ == '__main__':
    sys.exit(main())
