#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what the documents name exists: links with their headings, paths and file names in backticks or command
blocks, C++ names that begin with lockstep::, and all C++ names of the pages about the code.   tests/paths_test.py [ROOT]

A word is a path of the project if it begins with a folder of the project and a slash. A word without a slash is one if it
ends like a source (.cpp, .py, .md ...). Users' files are written in capitals (DATA/train.txt), begin with another folder,
or end like a user's file (config.json). A capital X as a name stands for any name (X.hpp). Prints one line for each
fault; exit code 1 if there is one."""
import glob
import os
import re
import sys
import tempfile

PAGES = ('README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'docs/*.md', 'docs/*/*.md')
# These pages name types of the code; the others may name those of other projects.
PAGES_OF_CODE = ('README.md', 'CONTRIBUTING.md', 'docs/glossary.md', 'docs/architecture.md')
SOURCE = re.compile(r'[\w.{},*-]+\.(cpp|hpp|ipp|cu|py|sh|md|cmake|ptx)$')
PATH = re.compile(r'[\w.][\w./{},*-]*')
QUALIFIED = re.compile(r'(\w+(?:::~?\w+)+)(?:\(\))?$')
IGNORED = ('.git', 'build', 'Testing')


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def files_below(root):
    for folder, folders, names in os.walk(root):
        if folder == root:
            folders[:] = [name for name in folders if not name.startswith(IGNORED)]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def alternatives(word):
    """`a_{x,y}.cpp` is two words."""
    braces = re.search(r'\{([^{}]*)\}', word)
    if not braces:
        return [word]
    return [other for choice in braces.group(1).split(',')
            for other in alternatives(word[:braces.start()] + choice + word[braces.end():])]


def headings(text):
    """The anchors that Markdown makes of a page's headings."""
    text = re.sub(r'```.*?```', '', text, flags=re.DOTALL)
    titles = re.findall(r'^#+ +(.*?)\s*$', text, re.MULTILINE)
    return {re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-') for title in titles}


class Tree:
    """The files of a project and the words of its sources."""

    def __init__(self, root):
        self.root = root
        self.files = set(files_below(root))
        self.names = {os.path.basename(path) for path in self.files}
        self.folders = {path.split('/')[0] for path in self.files if '/' in path}
        self.words = {word for path in self.files if re.search(r'\.(cpp|hpp|ipp|cu)$', path)
                      for word in re.findall(r'\w+', read(os.path.join(root, path)))}

    def has(self, path):
        return bool(glob.glob(os.path.join(self.root, path.rstrip('/'))))

    def lacks(self, word):
        """Whether the word names something of the project that does not exist."""
        word = re.sub(r'(:\d+)?[.,:;]?$', '', word)
        word = re.sub(r'(?<![A-Za-z0-9_])X(?=[._])', '*', word)
        if not PATH.fullmatch(word):
            return False
        first = word.split('/')[0]
        if '/' in word and first in self.folders:
            return not all(self.has(one) for one in alternatives(word))
        if '/' in word or not SOURCE.fullmatch(word):
            return False
        return not all(one in self.names or '*' in one for one in alternatives(word))


def quoted(text):
    """The words in backticks and in command blocks, with their lines."""
    inside = False
    for number, line in enumerate(text.split('\n'), 1):
        if line.lstrip().startswith('```'):
            inside = not inside
            continue
        for part in [line] if inside else re.findall(r'`([^`]+)`', line):
            for word in re.sub(r'\s#.*', '', part).split():
                yield number, word


def names_in(word, page):
    """The C++ names that a source must have, such as StepLoader and next of lockstep::data::StepLoader::next()."""
    name = QUALIFIED.fullmatch(word)
    return name.group(1).split('::') if name and (page in PAGES_OF_CODE or word.startswith('lockstep::')) else ()


def faults_of_page(tree, page):
    text = read(os.path.join(tree.root, page))
    folder = os.path.dirname(page)
    for number, word in quoted(text):
        if tree.lacks(word):
            yield f'{page}:{number}: {word} does not exist'
        for name in names_in(word, page):
            if name not in tree.words:
                yield f'{page}:{number}: no source has the name {name}'
    for target in re.findall(r'\]\(([^)\s]+)\)', text):
        if re.match(r'[a-z]+:', target):
            continue
        path, _, anchor = target.partition('#')
        path = os.path.normpath(os.path.join(folder, path)) if path else page
        if not tree.has(path):
            yield f'{page}: the link {target} leads nowhere'
        elif anchor and anchor not in headings(read(os.path.join(tree.root, path))):
            yield f'{page}: the link {target} names no heading'


def faults(root):
    tree = Tree(root)
    for pattern in PAGES:
        for page in sorted(glob.glob(os.path.join(root, pattern))):
            yield from faults_of_page(tree, os.path.relpath(page, root))


def planted_faults():
    """A made-up tree: the first page has five faults, the second one, and the third none."""
    files = {
        'runtime/core/view.hpp': 'namespace lockstep::core { class View; }\n',
        'README.md': '`runtime/core/gone.cpp` `gone_test.cpp` `core::Gone` [a](docs/gone.md) [b](docs/sound.md#gone)\n',
        'docs/gone.d/stack.md': '```\nlockstep::core::gone()\n```\n',
        'docs/sound.md': '# Sound page\n`runtime/core/view.{hpp,hpp}` `view.hpp:3` `core::View` `std::gone` `DATA/gone.cpp` `X.cpp`\n'
                         '`runtime/core/X.hpp` `config.json` [a](../README.md) [b](#sound-page)\n```sh\ncat out/x.cpp runtime/core\n```\n',
    }
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        return list(faults(root))


def main():
    planted = planted_faults()
    if len(planted) != 6 or not all('gone' in fault.lower() and 'sound.md:' not in fault for fault in planted):
        print(f'the check itself is wrong: of six planted faults it found {planted}')
        return 1
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    found = list(faults(os.path.normpath(root)))
    print('\n'.join(found) or 'every path and name in the documents exists')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
