#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the order of the rooms (docs/architecture.md).

- Every folder of sources is a line of cmake/rooms.txt, and every line is a folder whose CMakeLists.txt declares a room,
  says in a comment what it is, and names each of the folder's sources (or a list of cmake/ does).
- A file includes only its own room and rooms before it in that list, and those are named in the folder's CMakeLists.txt.
  An include is written from the root of the project.
- data includes of the other floors only runtime/core, runtime/files and runtime/batch.
- No source has an #if or a #define, and CUDA's headers are included only in the folders that wrap them.
Prints one line for each fault; exit code 1 if there is one.   tests/layers_test.py [ROOT]"""
import collections
import os
import re
import sys
import tempfile

FLOORS = ('runtime', 'model', 'data', 'launcher')
SOURCE = re.compile(r'\.(cpp|hpp|cu)$')
OTHER_SOURCE = re.compile(r'\.(c|cc|cxx|h|hh|hxx|cuh|ipp|inc|inl|tcc|tpp)$')
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
QUOTED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
CONDITION = re.compile(r'^\s*#\s*(if|ifdef|ifndef|elif|else|define)\b', re.MULTILINE)
ROOM = re.compile(r'lockstep_(?:cuda_|cpu_)?(?:room|floor)\(\s*(\w+)([^)]*)\)')
# The emulated device of the tests has a folder of the same name, so these headers are not included by their full path.
INSTRUCTIONS = 'runtime/kernels/cuda/instructions_ptx/'
CUDA_HEADER = re.compile(r'(cuda|cu(blas|dnn)|nccl|nvtx|nv_?ml)', re.IGNORECASE)
CUDA_ROOMS = ('runtime/device/cuda', 'runtime/kernels/cuda', 'runtime/comm/nccl')
CUDA_FILES = ('runtime/core/named_range_nvtx.cpp',)
ROOMS_FOR_DATA = ('runtime/core', 'runtime/files', 'runtime/batch')


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def files_of(root):
    for floor in FLOORS:
        for folder, folders, names in os.walk(os.path.join(root, floor)):
            folders.sort()
            for name in sorted(names):
                yield os.path.normpath(os.path.relpath(os.path.join(folder, name), root))


def sources(root):
    return (path for path in files_of(root) if SOURCE.search(path))


def room_of(path, rooms):
    """The room that holds the file; '' for launcher/main.cpp, the program, which uses every room."""
    folder = os.path.dirname(path)
    if folder == INSTRUCTIONS + 'instructions':
        folder = os.path.dirname(folder)
    return folder if folder in rooms else ''


def included(text):
    """The includes of a source, as paths from the root."""
    for include in INCLUDE.findall(text):
        yield os.path.normpath(INSTRUCTIONS + include if include.startswith('instructions/') else include)


def cmake_text(root, room):
    path = os.path.join(root, room, 'CMakeLists.txt')
    return read(path) if os.path.isfile(path) else ''


def targets(root, rooms):
    """The rooms by the names of their targets, and the targets that each room's list names."""
    by_target, named = {}, {}
    for room in rooms:
        calls = ROOM.findall(re.sub(r'#.*', '', cmake_text(root, room)))
        for name, rest in calls:
            by_target[name] = room
        named[room] = {word for _, rest in calls for word in rest.split()}
    return by_target, named


def faults_of_room(root, room, elsewhere):
    """The faults of a room's CMakeLists.txt; `elsewhere` is the text of the project's other lists."""
    text = cmake_text(root, room)
    call = ROOM.search(re.sub(r'#.*', lambda comment: ' ' * len(comment.group()), text))
    if not call:
        yield f'{room}/CMakeLists.txt: declares no room, but cmake/rooms.txt names one'
        return
    if not re.search(r'^# (?!SPDX)\S+ \S+', text[:call.start()], re.MULTILINE):
        yield f'{room}/CMakeLists.txt: no comment before the room says what it is'
    words = set(re.findall(r'[\w.]+', re.sub(r'#.*', '', text + elsewhere)))
    for name in sorted(os.listdir(os.path.join(root, room))):
        if name.endswith(('.cpp', '.cu')) and name not in words:
            yield f'{room}/{name}: no CMake list names it'


def faults_of_lists(root, rooms):
    height = {room: index for index, room in enumerate(rooms)}
    by_target, named = targets(root, rooms)
    cmake = os.path.join(root, 'cmake')
    elsewhere = ''.join(read(os.path.join(cmake, name)) for name in os.listdir(cmake) if name.endswith('.cmake'))
    for room, count in collections.Counter(rooms).items():
        if count > 1:
            yield f'cmake/rooms.txt: names {room} twice'
        yield from faults_of_room(root, room, elsewhere)
        for word in sorted(named[room]):
            # A whole, such as kernels_cuda, is declared in the last of its rooms.
            if height[by_target.get(word, room)] > height[room]:
                yield f'{room}/CMakeLists.txt: uses {by_target[word]}, which is not before it in cmake/rooms.txt'


def faults_of_text(root, path, text):
    """The faults of a source that do not depend on the order."""
    if CONDITION.search(text):
        yield f'{path}: has a condition or a definition of the preprocessor'
    wraps_cuda = path.startswith(CUDA_ROOMS) or path in CUDA_FILES
    for include in INCLUDE.findall(text):
        if not wraps_cuda and CUDA_HEADER.match(include.replace('nvtx3/', 'nvtx')) and include not in QUOTED.findall(text):
            yield f'{path}: includes {include}, which only the folders of CUDA do'
    for include in QUOTED.findall(text):
        full = INSTRUCTIONS + include if include.startswith('instructions/') else include
        # CMake generates launcher/version.hpp from launcher/version.hpp.in.
        made = os.path.isfile(os.path.join(root, full)) or os.path.isfile(os.path.join(root, full + '.in'))
        if not made or full != os.path.normpath(full):
            yield f'{path}: includes {include}, which is not the path of a file from the root of the project'


def faults(root):
    rooms = read(os.path.join(root, 'cmake', 'rooms.txt')).split()
    height = {room: index for index, room in enumerate(rooms)}
    by_target, named = targets(root, rooms)
    allowed = {room: {by_target[word] for word in words if word in by_target} for room, words in named.items()}
    yield from faults_of_lists(root, rooms)
    for path in files_of(root):
        if OTHER_SOURCE.search(path):
            yield f'{path}: sources end in .cpp, .hpp or .cu'
    for path in sources(root):
        room, text = room_of(path, height), read(os.path.join(root, path))
        yield from faults_of_text(root, path, text)
        if not room:
            if path != 'launcher/main.cpp':
                yield f'{path}: its folder is not in cmake/rooms.txt'
            continue
        for include in included(text):
            other = room_of(include, height)
            if other == room or not os.path.isfile(os.path.join(root, include)):
                continue
            if not other or height[other] > height[room]:
                yield f'{path}: includes {include}, which is not before {room} in cmake/rooms.txt'
            elif other not in allowed[room]:
                yield f'{path}: includes {include}, but {room}/CMakeLists.txt does not name {other}'
            if room.startswith('data/') and not other.startswith('data/') and other not in ROOMS_FOR_DATA:
                yield f'{path}: includes {include}, but data includes only runtime/core, runtime/files and runtime/batch'


def planted_list(name, words):
    return f'# The room {name}.\nlockstep_room({name}\n    {words})\n'


# A made-up tree: a file whose name has "bad" has one fault, and the others have none.
PLANTED = {
    'cmake/rooms.txt': 'runtime/core\nruntime/mid\nruntime/bad_call\nruntime/bad_words\nruntime/bad_order\ndata/high\n',
    'cmake/Some.cmake': 'set(other elsewhere.cpp)\n',
    'runtime/core/CMakeLists.txt': planted_list('core', 'SOURCES bad_up.cpp bad_angle.cpp bad_round.cpp'),
    'runtime/mid/CMakeLists.txt': planted_list('mid', '# bad_unbuilt.cpp\n    SOURCES b.cpp USES core'),
    'runtime/bad_call/CMakeLists.txt': '# lockstep_room(no SOURCES a.cpp)\n',
    'runtime/bad_words/CMakeLists.txt': '# SPDX-License-Identifier: Apache-2.0\nlockstep_room(words USES core)\n',
    'runtime/bad_order/CMakeLists.txt': planted_list('order', 'USES high'),
    'data/high/CMakeLists.txt': planted_list('high', 'USES core words'),
    'runtime/core/a.hpp': '#include <vector>\n',
    'runtime/core/bad_up.cpp': '#include "runtime/mid/b.hpp"\n',
    'runtime/core/bad_angle.cpp': '#include <runtime/mid/b.hpp>\n',
    'runtime/core/bad_round.cpp': '#include <runtime/core/../mid/b.hpp>\n',
    'runtime/core/bad_beside.hpp': '#include "a.hpp"\n',
    'runtime/core/bad_above.hpp': '#include "../core/a.hpp"\n',
    'runtime/core/bad_gone.hpp': '#include "runtime/core/gone.hpp"\n',
    'runtime/core/bad_tests.hpp': '#include "tests/support/t.hpp"\n',
    'runtime/core/bad_if.hpp': '#if 1\nint a;\n',
    'runtime/core/bad_cuda.hpp': '#include <cuda_runtime.h>\n',
    'runtime/core/bad_ending.inc': '',
    'runtime/core/below/bad_folder.hpp': '',
    'runtime/mid/b.hpp': '#include "runtime/core/a.hpp"\n#include "launcher/version.hpp"\n',
    'runtime/mid/b.cpp': '',
    'runtime/mid/elsewhere.cpp': '',
    'runtime/mid/bad_unbuilt.cpp': '',
    'runtime/bad_words/w.hpp': '',
    'data/high/bad_unnamed.hpp': '#include "runtime/mid/b.hpp"\n',
    'data/high/bad_floor.hpp': '#include "runtime/bad_words/w.hpp"\n',
    'model/bad_stray.cpp': '',
    'launcher/version.hpp.in': '',
    'tests/support/t.hpp': '',
}


def planted_faults():
    """The files of the made-up tree in which the check finds a fault."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in PLANTED.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        return {fault.split(':')[0] for fault in faults(root)}


def main():
    expected = {path for path in PLANTED if 'bad' in path and path != 'runtime/bad_words/w.hpp'}
    wrong = planted_faults() ^ expected
    if wrong:
        print(f'the check itself is wrong about the planted files {sorted(wrong)}')
        return 1
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    found = sorted(set(faults(root)))
    print('\n'.join(found) or 'every include follows the order of the rooms')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
