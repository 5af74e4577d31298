#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that sources and headers include what they use: that each compiles alone.

What the build compiles alone is left out: a source that is not compiled together with others (CMAKE_UNITY_BUILD), and the
header that it includes first. Of the other sources of the program this test compiles an eighth, and of the headers that none
of them includes first a quarter. Their checksums choose, so that each has its turn when it changes; with `all`, it compiles
all of them. The options of a header are those of a source that includes it. Headers that the build does not use are left out:
those of cuDNN and with PTX.
Prints one line and the compiler's words for each fault.   tests/includes_test.py BUILD [all]"""
import concurrent.futures
import os
import re
import subprocess
import sys
import zlib

from compile_commands import INCLUDE, ROOT, commands_of, read

FLOORS = ('runtime', 'model', 'data', 'launcher', 'bench', 'tests')
ONLY_NVCC = 'runtime/kernels/cuda/instructions_ptx/'
KEPT = re.compile(r'-(I|isystem|D|std=|f|m|W(no-|all|extra|shadow|conversion))')
TURNS = {'.cpp': 8, '.hpp': 4, '.h': 4}


def all_headers():
    for floor in FLOORS:
        for folder, _, names in os.walk(os.path.join(ROOT, floor)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if name.endswith(('.hpp', '.h')) and not path.startswith(ONLY_NVCC):
                    yield path


def options_of(command):
    """The compiler, and the options that say how a file is read."""
    words, kept = command.words, []
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


def commands_of_headers(commands, headers):
    """A command for each header: that of a source that includes it, itself or by other headers."""
    found, waiting = {}, [(command.source, command) for command in commands]
    while waiting:
        includer, command = waiting.pop(0)
        for include in INCLUDE.findall(read(includer)):
            header = file_of(include, includer, headers)
            if header and header not in found:
                found[header] = command
                waiting.append((header, command))
    return found


def not_built_alone(commands):
    """The sources and headers that neither the build nor one of these sources shows to compile alone: path to command."""
    headers = set(all_headers())
    found = commands_of_headers(commands, headers)
    alone = {command.source for command in commands if not command.together}
    checked = {command.source: command for command in commands
               if command.together and command.source not in alone and not command.source.startswith('tests/')}
    first = (INCLUDE.search(read(source)) for source in alone | set(checked))
    shown = {include.group(1) for include in first if include}
    return checked | {header: found[header] for header in sorted(set(found) - shown)}


def in_turn(path):
    """Whether a test without `all` compiles the file."""
    return zlib.crc32(read(path).encode()) % TURNS[os.path.splitext(path)[1]] == 0


def fault(command, file, text=''):
    """What the compiler says of a file, or of a source with this text where the file is `-`; '' if it compiles."""
    done = subprocess.run([*options_of(command), '-Werror', '-fsyntax-only', '-x', 'c++', file], input=text, text=True,
                          capture_output=True, cwd=command.folder, check=False)
    return done.stderr if done.returncode else ''


def fault_of(path, command):
    """What the compiler says of a source or header alone."""
    path = os.path.join(ROOT, path)
    return fault(command, path) if path.endswith('.cpp') else fault(command, '-', f'#include "{path}"\n')


def main():
    commands = [command for command in commands_of(sys.argv[1])
                if command.source.startswith(FLOORS) and 'nvcc' not in command.words[0]]
    planted = 'inline std::string planted() { return {}; }\n'
    if fault(commands[0], '-', '#include <string>\n' + planted) or not fault(commands[0], '-', planted):
        print('the check itself is wrong about a file that does not include what it uses')
        return 1
    others = not_built_alone(commands)
    chosen = [path for path in others if 'all' in sys.argv[2:] or in_turn(path)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        answers = list(pool.map(fault_of, chosen, [others[path] for path in chosen]))
    wrong = [f'{path}: does not compile alone\n{words}' for path, words in zip(chosen, answers) if words]
    print('\n'.join(wrong) or f'{len(chosen)} of {len(others)} files that the build does not compile alone include what they use')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
