#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what the documents name exists: links with their headings, paths and file names in backticks or command
blocks, C++ names that begin with lockstep::, and all names of the pages about the code. A type of the glossary is in the
folder that its row names, and docs/testing.md has a row for each test. Paths in the comments of C++ sources exist, too.

    tests/paths_test.py [ROOT]

A word is a path of the project if it begins with a folder of the project and a slash. A word without a slash is one if it
ends like a source (.cpp, .py, .md ...). Code in backticks may go on in the next line. Users' files are written in
capitals (DATA/train.txt), begin with another folder, or end like a user's file (config.json). A capital X as a name
stands for any name (X.hpp). Prints one line for each fault; exit code 1 if there is one."""
import glob
import os
import re
import sys
import tempfile

PAGES = ('README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'docs/*.md', 'docs/*/*.md')
# These pages name types of the code; the others may name those of other projects.
PAGES_OF_CODE = ('README.md', 'CONTRIBUTING.md', 'docs/glossary.md', 'docs/architecture.md', 'docs/testing.md')
SOURCE = re.compile(r'[\w.{},*-]+\.(cpp|hpp|ipp|cu|py|sh|md|cmake|ptx)$')
PATH = re.compile(r'[\w.][\w./{},*-]*')
QUALIFIED = re.compile(r'(\w+(?:::~?\w+)+)(?:\(\))?[.,:;]?$')
# A name of the code without its namespace: it has a capital inside or an underscore. Examples of forms are none.
PLAIN = re.compile(r'(?!CamelCase\b|lower_case_?\b|\w+_\b)([A-Za-z]\w*(?:[a-z][A-Z]|_)\w+)(?:\(\))?[.,:;]?$')
ROW_OF_TYPE = re.compile(r'`(?:\w+::)*(\w+)`, `([a-z][\w/]*)` \|$')
DECLARES = r'\b(?:class|struct|enum class|using|concept|constexpr [\w:]+) {}\b(?!;)'
CPP = re.compile(r'\.(cpp|hpp|cu)$')
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
        self.sources = sorted(path for path in self.files if CPP.search(path))
        self.words = {word for path in self.sources for word in re.findall(r'\w+', re.sub(r'//.*', '', self.text(path)))}
        # Targets of CMake, tests, environment variables: words of all files that are no documents.
        self.other_words = {word for path in self.files if re.search(r'(CMakeLists\.txt|\.(cmake|json|py|sh))$', path)
                            for word in re.findall(r'\w+', self.text(path))}
        self.other_words |= {os.path.splitext(name)[0] for name in self.names}

    def text(self, path):
        return read(os.path.join(self.root, path))

    def has(self, path):
        """Whether the file exists, or CMake makes it."""
        return any(glob.glob(os.path.join(self.root, path.rstrip('/') + ending)) for ending in ('', '.in'))

    def has_end(self, word):
        """Whether a path ends like this, if the word is the end of a source's path (step/engine.hpp)."""
        if not re.fullmatch(r'\w+(/\w+)*/\w+\.(cpp|hpp|cu)', word) or '/include/' in word:
            return True
        return any(f'/{path}'.endswith(f'/{word}') for path in self.files)

    def knows(self, name):
        """Whether the sources or the build have the name; the program of gone_test.cpp is gone_tests."""
        return any(name in words or name.endswith('_tests') and name[:-1] in words for words in (self.words, self.other_words))

    def declares(self, folder, name):
        headers = glob.glob(os.path.join(self.root, folder, '*.hpp'))
        return any(re.search(DECLARES.format(name), read(header)) for header in headers)

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


def paragraphs(text):
    """The command blocks, paragraphs and rows of tables: whether it is a command, its first line, its text."""
    inside, begin, lines = False, 1, []
    for number, line in enumerate(text.split('\n') + [''], 1):
        fence = line.lstrip().startswith('```')
        if lines and (inside or fence or not line.strip() or re.match(r'\s*([-*|#]|\d+\.) ', line)):
            yield inside, begin, '\n'.join(lines)
            lines = []
        if fence:
            inside = not inside
            continue
        if not lines:
            begin = number
        if line.strip():
            lines.append(line)


def quoted(text):
    """The words in backticks and in command blocks, with their lines."""
    for command, begin, block in paragraphs(text):
        if command:
            yield from ((begin, word) for word in re.sub(r'\s#.*', '', block).split())
            continue
        for part in re.finditer(r'`([^`]+)`', block):
            line = begin + block.count('\n', 0, part.start())
            yield from ((line, word) for word in re.sub(r'\s#.*', '', part.group(1)).split())


def faults_of_word(tree, page, word):
    if tree.lacks(word):
        yield f'{word} does not exist'
    name = QUALIFIED.fullmatch(word)
    if name and (page in PAGES_OF_CODE or word.startswith('lockstep::')):
        yield from (f'no source has the name {part}' for part in name.group(1).split('::') if part not in tree.words)
    name = PLAIN.fullmatch(word)
    if name and page in PAGES_OF_CODE and not tree.knows(name.group(1)):
        yield f'no source has the name {name.group(1)}'


def faults_of_page(tree, page):
    text = tree.text(page)
    for number, word in quoted(text):
        yield from (f'{page}:{number}: {fault}' for fault in faults_of_word(tree, page, word))
    for command, number, block in paragraphs(text):
        if not command and block.count('`') % 2:
            yield f'{page}:{number}: a backtick is missing'
    for number, line in enumerate(text.split('\n'), 1):
        row = ROW_OF_TYPE.search(line)
        if row and page == 'docs/glossary.md' and not tree.declares(row.group(2), row.group(1)):
            yield f'{page}:{number}: no header of {row.group(2)} declares {row.group(1)}'
    for target in re.findall(r'\]\(([^)\s]+)\)', text):
        if re.match(r'[a-z]+:', target):
            continue
        path, _, anchor = target.partition('#')
        path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not tree.has(path):
            yield f'{page}: the link {target} leads nowhere'
        elif anchor and anchor not in headings(tree.text(path)):
            yield f'{page}: the link {target} names no heading'


def programs_of_tests(tree):
    """The tests that the build declares by name, alone or in a list of names or files."""
    for path in sorted(path for path in tree.files if re.match(r'tests/.*CMakeLists\.txt$', path)):
        text = re.sub(r'#.*', '', tree.text(path))
        yield from re.findall(r'(?:\badd_test\(NAME|lockstep_test\()\s*([a-z]\w+)', text)
        for names in re.findall(r'foreach\(\w+([^)]*)\)(?:\s*get_filename_component.*)?\s*lockstep_test\(\$\{name\}_tests', text):
            yield from (f'{os.path.basename(name)}_tests' for name in names.split())


def faults_of_rows(tree, page):
    """Each test has a row; `mpi_*` stands for all tests that begin so."""
    rows = re.findall(r'^\| (`.*?) \|', tree.text(page), re.MULTILINE)
    patterns = [word.replace('*', r'\w*') for row in rows for word in re.findall(r'`([\w*]+)`', row)]
    for name in programs_of_tests(tree):
        if not any(re.fullmatch(pattern, name) for pattern in patterns):
            yield f'{page}: no row says what {name} proves'


def faults_of_comments(tree, source):
    for number, line in enumerate(tree.text(source).split('\n'), 1):
        comment = re.search(r'(?:^|\s)// (.*)', line)
        for word in re.findall(r'[\w./{},*-]+', comment.group(1)) if comment else ():
            word = word.rstrip('.,')
            if tree.lacks(word) or not tree.has_end(word):
                yield f'{source}:{number}: {word} does not exist'


def faults(root):
    tree = Tree(root)
    for pattern in PAGES:
        for page in sorted(glob.glob(os.path.join(root, pattern))):
            yield from faults_of_page(tree, os.path.relpath(page, root))
    yield from faults_of_rows(tree, 'docs/testing.md')
    for source in tree.sources:
        yield from faults_of_comments(tree, source)


def planted_faults():
    """A made-up tree: each line with "gone" has one fault, the others have none."""
    files = {
        'runtime/core/view.hpp': 'namespace lockstep::core { class View; }\nint view_of(); // docs/sound.md, runtime/core/view.hpp\n'
                                 '// runtime/core/gone.hpp\n// CommentGone\n// core/gone.hpp or core/view.hpp\n',
        'runtime/mid/other.hpp': 'struct GoneElsewhere { int x; };\n',
        'tests/view_test.cpp': '',
        'README.md': '`runtime/core/gone.cpp`\n`gone_test.cpp`\n`core::Gone`\n[a](docs/gone.md)\n[b](docs/sound.md#gone)\n\n'
                     '`cat\nruntime/gone/core`\n\n`CommentGone`\n`gone_tests`\n`find_gone()`.\n\n- `view.hpp:3 gone\n\n',
        'docs/gone.d/stack.md': '```\nlockstep::core::gone()\n```\n',
        'docs/glossary.md': '| view | text | `core::GoneElsewhere`, `runtime/mid` |\n'
                            '| gone | text | `core::GoneElsewhere`, `runtime/core` |\n',
        'docs/sound.md': '# Sound page\n`runtime/core/view.{hpp,hpp}` `view.hpp:3` `core::View` `std::gone` `DATA/gone.cpp` `X.cpp`\n'
                         '`runtime/core/X.hpp` `config.json` [a](../README.md) [b](#sound-page) `view_of` `ParlaiGone`\n'
                         '```sh\ncat out/x.cpp runtime/core\n```\n',
        'docs/testing.md': '`view_of()` `rooms_picture\nruntime/core`\n\n| `view_tests`, `mpi_*` | text |\n',
        'tests/CMakeLists.txt': 'lockstep_test(view_tests)\nadd_test(NAME mpi_sums)\nlockstep_test(alone_gone_tests)\n'
                                'foreach(file\n  a/view\n  a/listed_gone)\n  lockstep_test(${name}_tests)\n',
        'tests/run.sh': 'rooms_picture\n',
    }
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        return list(faults(root))


def main():
    planted = planted_faults()
    if len(planted) != 16 or not all('gone' in fault.lower() or 'a backtick' in fault for fault in planted):
        print('the check itself is wrong: of 16 planted faults it found', *planted, sep='\n')
        return 1
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    found = list(faults(os.path.normpath(root)))
    print('\n'.join(found) or 'every path and name in the documents exists')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
