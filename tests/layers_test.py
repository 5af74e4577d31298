#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the order of the rooms (docs/architecture.md): every folder of sources is a line of cmake/rooms.txt, a file
includes only its own room and rooms before it in that list, and those are named in the folder's CMakeLists.txt.
Prints one line for each fault; exit code 1 where there is one.   tests/layers_test.py [ROOT]"""
import os
import re
import sys
import tempfile

FLOORS = ('runtime', 'model', 'data', 'launcher')
SOURCE = re.compile(r'\.(cpp|hpp|cu)$')
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def sources(root):
    for floor in FLOORS:
        for folder, folders, names in os.walk(os.path.join(root, floor)):
            folders.sort()
            for name in sorted(names):
                if SOURCE.search(name):
                    yield os.path.relpath(os.path.join(folder, name), root)


def room_of(path, rooms):
    """The innermost room that holds the file; launcher/main.cpp is the program, which uses every room."""
    folder = os.path.dirname(path)
    while folder and folder not in rooms:
        folder = os.path.dirname(folder)
    return folder


def targets(root, rooms):
    """The rooms by the names of their targets, and the targets that each room's list names."""
    by_target, named = {}, {}
    for room in rooms:
        text = re.sub(r'#.*', '', read(os.path.join(root, room, 'CMakeLists.txt')))
        calls = re.findall(r'lockstep_(?:cuda_)?(?:room|floor)\(\s*(\w+)([^)]*)\)', text)
        for name, rest in calls:
            by_target[name] = room
        named[room] = {word for _, rest in calls for word in rest.split()}
    return by_target, named


def faults(root):
    rooms = read(os.path.join(root, 'cmake', 'rooms.txt')).split()
    height = {room: index for index, room in enumerate(rooms)}
    by_target, named = targets(root, rooms)
    allowed = {room: {by_target[word] for word in words if word in by_target} for room, words in named.items()}
    for path in sources(root):
        room = room_of(path, height)
        if not room:
            if path != 'launcher/main.cpp':
                yield f'{path}: its folder is not in cmake/rooms.txt'
            continue
        for include in INCLUDE.findall(read(os.path.join(root, path))):
            if include.startswith('instructions/'):
                include = 'runtime/kernels/cuda/instructions_ptx/' + include
            if not os.path.isfile(os.path.join(root, include)):
                continue
            other = room_of(include, height)
            if other == room:
                continue
            if not other or height[other] > height[room]:
                yield f'{path}: includes {include}, which is not before {room} in cmake/rooms.txt'
            elif other not in allowed[room]:
                yield f'{path}: includes {include}, but {room}/CMakeLists.txt does not name {other}'


def planted_faults():
    """A made-up tree with one include of a later room, one that no list names and one folder that is no room."""
    files = {
        'cmake/rooms.txt': 'runtime/low\nruntime/mid\ndata/high\n',
        'runtime/low/CMakeLists.txt': 'lockstep_room(low SOURCES a.cpp)\n',
        'runtime/mid/CMakeLists.txt': 'lockstep_room(mid SOURCES b.cpp)\n',
        'data/high/CMakeLists.txt': 'lockstep_room(high\n    USES\n        low)\n',
        'runtime/low/a.cpp': '#include "runtime/mid/b.hpp"\n',
        'runtime/mid/b.hpp': '',
        'data/high/c.cpp': '#include "runtime/low/a.hpp"\n#include "runtime/mid/b.hpp"\n',
        'runtime/low/a.hpp': '',
        'model/stray.cpp': '',
    }
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        return [fault.split(':')[0] for fault in sorted(faults(root))]


def main():
    if planted_faults() != ['data/high/c.cpp', 'model/stray.cpp', 'runtime/low/a.cpp']:
        print(f'the check itself is wrong: of three planted faults it found {planted_faults()}')
        return 1
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    found = sorted(set(faults(root)))
    print('\n'.join(found) or 'every include follows the order of the rooms')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
