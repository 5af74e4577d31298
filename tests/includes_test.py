#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that sources and headers include what they use: that each compiles alone.

What the build compiles alone is left out: a source that is not compiled together with others (CMAKE_UNITY_BUILD), and the
header that it includes first. Of the others this test compiles those that the last commits have changed, where the history is
there, and of the rest one source in twenty and one header in twelve; each change makes another choice. With `all` it compiles
all of them. The options of a header are those of a source that includes it. Headers that the build does not use are left
out: those of cuDNN and with PTX.
Prints one line and the compiler's words for each fault.   tests/includes_test.py BUILD [all]"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

from compile_commands import INCLUDE, ROOT, Turns, all_files, commands_of, read

ONLY_NVCC = 'runtime/kernels/cuda/instructions_ptx/'
KEPT = re.compile(r'-(I|isystem|D|std=|f|m|W(no-|all|extra|shadow|conversion))')
SHARE_OF_SOURCES, SHARE_OF_HEADERS = 20, 12
RECENT_COMMITS = 20


def options_of(command):
    """The compiler, and the options that say how a file is read."""
    words, kept = command.words, []
    for word, following in zip(words, words[1:] + ['']):
        if word in ('-I', '-isystem', '-idirafter'):
            kept += [word, following]
        elif KEPT.match(word):
            kept.append(word)
    return [words[1] if os.path.basename(words[0]) == 'ccache' else words[0], *kept]


def file_of(include, includer, headers):
    """The header of the project that an include names: from the root, beside the source, or the emulated device's."""
    beside = os.path.normpath(os.path.join(os.path.dirname(includer), include))
    emulated = 'tests/support/cuda_emulation/' + include
    return next((path for path in (include, beside, emulated) if path in headers), None)


def commands_of_headers(commands):
    """A command for each header: that of a source that includes it, itself or by other headers."""
    headers = {path for path in all_files(('.hpp', '.h')) if not path.startswith(ONLY_NVCC)}
    found, waiting = {}, [(command.source, command) for command in commands]
    while waiting:
        includer, command = waiting.pop(0)
        for include in INCLUDE.findall(read(includer)):
            header = file_of(include, includer, headers)
            if header and header not in found:
                found[header] = command
                waiting.append((header, command))
    return found


def first_includes(sources):
    found = (INCLUDE.search(read(source)) for source in sources)
    return {include.group(1) for include in found if include}


def recently_changed():
    """The files that the last commits and the working tree have changed; none where there is no history."""
    if not shutil.which('git'):
        return set()
    asked = (['log', f'-{RECENT_COMMITS}', '--name-only', '--format='], ['diff', 'HEAD', '--name-only'])
    answers = (subprocess.run(['git', *words], capture_output=True, text=True, cwd=ROOT, check=False) for words in asked)
    return {path for answer in answers for path in answer.stdout.splitlines()}


def chosen_files(commands, every):
    """What the test compiles, and how many files the build does not show to compile alone. Path to command. A chosen source
    also shows it of the header that it includes first."""
    turns, recent = Turns(), recently_changed()

    def has_turn(path, share):
        return every or path in recent or turns.has(path, share)
    alone = {command.source for command in commands if not command.together}
    sources = {command.source: command for command in commands if command.source not in alone}
    shown = first_includes(alone)
    headers = {path: command for path, command in commands_of_headers(commands).items() if path not in shown}
    chosen = {path: command for path, command in sources.items() if has_turn(path, SHARE_OF_SOURCES)}
    shown = first_includes(chosen)
    chosen |= {path: command for path, command in headers.items()
               if path not in shown and has_turn(path, SHARE_OF_HEADERS)}
    return chosen, len(sources) + len(headers)


def fault(command, file, text=''):
    """What the compiler says of a file, or of a source with this text where the file is `-`; '' if it compiles."""
    done = subprocess.run([*options_of(command), '-Werror', '-fsyntax-only', '-x', 'c++', file], input=text, text=True,
                          capture_output=True, cwd=command.folder, check=False)
    return done.stderr if done.returncode else ''


def fault_of(path, command):
    """What the compiler says of a source or header alone."""
    path = os.path.join(ROOT, path)
    return fault(command, '-', f'#include "{path}"\n') if path.endswith(('.hpp', '.h')) else fault(command, path)


def main():
    commands = [command for command in commands_of(sys.argv[1]) if 'nvcc' not in command.words[0]]
    planted = 'inline std::string planted() { return {}; }\n'
    if fault(commands[0], '-', '#include <string>\n' + planted) or not fault(commands[0], '-', planted):
        print('the check itself is wrong about a file that does not include what it uses')
        return 1
    chosen, others = chosen_files(commands, 'all' in sys.argv[2:])
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        answers = list(pool.map(fault_of, chosen.keys(), chosen.values()))
    wrong = [f'{path}: does not compile alone\n{words}' for path, words in zip(chosen, answers) if words]
    print('\n'.join(wrong) or f'{len(chosen)} of {others} files that the build does not compile alone include what they use')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
