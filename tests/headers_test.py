#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each header compiles alone: that it includes what it uses.

A header that a source includes before anything else is compiled alone by the build. This test compiles half of the others,
those whose checksum is even, so that each has its turn when it changes; with `all`, it compiles all of them. The options are
those of a source that includes the header. Headers that the build does not use are left out: those of cuDNN and with PTX.
Prints one line and the compiler's words for each fault.   tests/headers_test.py BUILD [all]"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import zlib

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
FLOORS = ('runtime', 'model', 'data', 'launcher', 'bench', 'tests')
ONLY_NVCC = 'runtime/kernels/cuda/instructions_ptx/'
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
KEPT = re.compile(r'-(I|isystem|D|std=|f|m|W(no-|all|extra|shadow|conversion))')


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def all_headers():
    for floor in FLOORS:
        for folder, _, names in os.walk(os.path.join(ROOT, floor)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if name.endswith(('.hpp', '.h')) and not path.startswith(ONLY_NVCC):
                    yield path


def options_of(entry):
    """The options of a compile command that say how a header is read."""
    words, kept = shlex.split(entry['command']), []
    for word, following in zip(words, words[1:] + ['']):
        if word == '-isystem' or word == '-I':
            kept += [word, following]
        elif KEPT.match(word):
            kept.append(word)
    return [words[1] if os.path.basename(words[0]) == 'ccache' else words[0], *kept]


def file_of(include, includer, headers):
    """The header of the project that an include names: from the root, beside the source, or the emulated device's."""
    beside = os.path.normpath(os.path.join(os.path.dirname(includer), include))
    emulated = 'tests/support/cuda_emulation/' + include
    return next((path for path in (include, beside, emulated) if path in headers), None)


def sources(entries):
    """Each source and its compile command; a file of CMake's that includes several stands for them (CMAKE_UNITY_BUILD)."""
    for entry in entries:
        path = os.path.join(entry['directory'], entry['file'])
        together = '/Unity/unity_' in path
        for source in INCLUDE.findall(read(path)) if together else [path]:
            source = os.path.relpath(source, ROOT)
            if source.startswith(FLOORS) and 'nvcc' not in entry['command'].split(' ', 1)[0]:
                yield source, entry, together


def commands(entries, headers):
    """A compile command for each header: that of a source that includes it, itself or by other headers."""
    found, waiting = {}, [(source, entry) for source, entry, _ in sources(entries)]
    while waiting:
        includer, entry = waiting.pop(0)
        for include in INCLUDE.findall(read(includer)):
            header = file_of(include, includer, headers)
            if header and header not in found:
                found[header] = entry
                waiting.append((header, entry))
    return found


def built_alone(entries):
    """The headers that the sources of the build include before anything else."""
    first = (INCLUDE.search(read(source)) for source, _, together in sources(entries) if not together)
    return {found.group(1) for found in first if found}


def in_turn(header):
    """Whether a test without `all` compiles the header."""
    return zlib.crc32(read(header).encode()) % 2 == 0


def fault(text, entry):
    """What the compiler says of a source with this text; '' if it compiles."""
    done = subprocess.run([*options_of(entry), '-Werror', '-fsyntax-only', '-x', 'c++', '-'], input=text, text=True,
                          capture_output=True, cwd=entry['directory'], check=False)
    return done.stderr if done.returncode else ''


def main():
    with open(os.path.join(sys.argv[1], 'compile_commands.json'), encoding='utf-8') as file:
        entries = json.load(file)
    headers = set(all_headers())
    found = commands(entries, headers)
    some = next(iter(found.values()))
    if fault('#include <vector>\n', some) or not fault('inline std::string planted() { return {}; }\n', some):
        print('the check itself is wrong about a header that does not include what it uses')
        return 1
    wrong, others = [], sorted(set(found) - built_alone(entries))
    alone = others if 'all' in sys.argv[2:] else [header for header in others if in_turn(header)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        texts = [f'#include "{os.path.join(ROOT, path)}"\n' for path in alone]
        for path, words in zip(alone, pool.map(fault, texts, [found[path] for path in alone])):
            if words:
                wrong.append(f'{path}: does not compile alone\n{words}')
    print('\n'.join(wrong) or f'{len(alone)} of {len(others)} headers compile alone, and the build compiled '
                              f'{len(found) - len(others)} others so')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
