#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/unicode.txt: what Python 3.11 itself answers for every code point.

    python3.11 tests/data/make_unicode_golden.py > tests/golden/unicode.txt

A line is "first last hash" of a run of 256-blocks with equal hashes. The hash is FNV-1a over one
record per code point c: its class (0 other, 1 word, 2 space) + 4 * the bits of four final-sigma
contexts, then, where str.lower changes it, the differences of the new code points to c, as 32-bit
little-endian words.
"""
import re
import struct
import unicodedata

WORD, SPACE = re.compile(r"\w"), re.compile(r"\s")
SPLIT = re.compile(r"\w+|[^\w\s]|\n")
SIGMA, FINAL = "\u03a3", "\u03c2"


def record(c):
    ch = chr(c)
    kind = 1 if WORD.match(ch) else 2 if SPACE.match(ch) else 0
    # The splitter must agree: "a" + ch + "b" is one token, three, or two (a line feed is a token).
    assert len(SPLIT.findall("a" + ch + "b")) == (3 if kind == 0 or ch == "\n" else 1 if kind == 1 else 2)
    contexts = (ch + SIGMA, "A" + ch + SIGMA, "A" + SIGMA + ch, "A" + SIGMA + ch + "B")
    bits = sum(1 << i for i, text in enumerate(contexts) if FINAL in text.lower())
    out = bytes([kind + 4 * bits])
    low = ch.lower()
    if low != ch:
        out += b"".join(struct.pack("<i", ord(x) - c) for x in low)
    return out


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def main():
    assert unicodedata.unidata_version == "14.0.0"
    runs = []
    for block in range(0x1100):
        if 0xD8 <= block < 0xE0:  # surrogates are no characters
            continue
        value = fnv1a(b"".join(record(c) for c in range(block * 256, block * 256 + 256)))
        if runs and runs[-1][2] == value and runs[-1][1] == block - 1:
            runs[-1][1] = block
        else:
            runs.append([block, block, value])
    for first, last, value in runs:
        print(f"{first:x} {last:x} {value:016x}")


main()
