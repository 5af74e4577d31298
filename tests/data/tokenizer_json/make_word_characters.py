#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of data/tokenizer_steps/word_characters.cpp: in what \\w of the regular expressions that `tokenizers` finds
the borders of words by differs from letters, marks and numbers (Python, tokenizers 0.23)."""
import textwrap

from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers


def ranges(code_points):
    found = []
    for code_point in sorted(code_points):
        if found and found[-1][1] == code_point - 1:
            found[-1][1] = code_point
        else:
            found.append([code_point, code_point])
    return ', '.join(f'{{0x{first:X}, 0x{last:X}}}' for first, last in found)


def main():
    tokenizer = Tokenizer(models.BPE(vocab={'a': 0}, merges=[]))
    tokenizer.add_tokens([AddedToken('WORD', single_word=True)])
    split = pre_tokenizers.Split(Regex(r'[\p{L}\p{M}\p{N}]'), 'removed')
    word, classes = set(), set()
    for code_point in (c for c in range(0x110000) if not 0xD800 <= c < 0xE000):
        if 1 not in tokenizer.encode(chr(code_point) + 'WORD').ids:
            word.add(code_point)
        if len(split.pre_tokenize_str(f'\n{chr(code_point)}\n')) == 2:
            classes.add(code_point)
    for name, found in (('other_word_characters', word - classes), ('numbers_outside_words', classes - word)):
        print(name)
        print('\n'.join(textwrap.wrap(ranges(found) + ',', 92, initial_indent='    ', subsequent_indent='    ')))


if __name__ == '__main__':
    main()
