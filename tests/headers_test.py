#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each header compiles alone: that it includes what it uses.

A header that a source includes before anything else is compiled alone by the build. This test compiles the others, with the
options of a source that includes them. Headers that the build does not use are left out: those of cuDNN and with PTX.
Prints one line and the compiler's words for each fault.   tests/headers_test.py BUILD"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

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


def commands(entries, headers):
    """A compile command for each header: that of a source that includes it, itself or by other headers."""
    found, waiting = {}, []
    for entry in entries:
        source = os.path.relpath(os.path.join(entry['directory'], entry['file']), ROOT)
        if source.startswith(FLOORS) and 'nvcc' not in entry['command'].split(' ', 1)[0]:
            waiting.append((source, entry))
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
    first = set()
    for entry in entries:
        found = INCLUDE.search(read(entry['file'])) if entry['file'].startswith(ROOT) else None
        if found:
            first.add(found.group(1))
    return first


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
    wrong, alone = [], sorted(set(found) - built_alone(entries))
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        texts = [f'#include "{os.path.join(ROOT, path)}"\n' for path in alone]
        for path, words in zip(alone, pool.map(fault, texts, [found[path] for path in alone])):
            if words:
                wrong.append(f'{path}: does not compile alone\n{words}')
    print('\n'.join(wrong) or f'{len(alone)} headers compile alone, and the build compiled {len(found) - len(alone)} others so')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
