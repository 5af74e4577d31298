#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes data/text/unicode_tables.cpp: what Python's `re` and `str.lower` know about code points.

Run with Python 3.11 (Unicode 14.0), whose behaviour the tables reproduce:
    python3.11 cmake/make_unicode_tables.py > data/text/unicode_tables.cpp
"""
import re
import sys
import unicodedata

SIGMA = "\u03a3"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(holds):
    found = []
    for c in CODE_POINTS:
        if not holds(chr(c)):
            continue
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def ends_final(text):
    return text.lower().endswith("\u03c2")


def is_cased(c):
    return ends_final(c + SIGMA)


def is_ignorable(c):
    return not is_cased(c) and ends_final("A" + c + SIGMA)


def lower_ranges():
    """[first, last, stride, delta]: every stride-th code point moves by delta."""
    found = []
    for c in CODE_POINTS:
        low = chr(c).lower()
        if low == chr(c) or len(low) > 1 or chr(c) == SIGMA:
            continue
        delta = ord(low) - c
        if found and found[-1][3] == delta:
            last = found[-1]
            stride = c - last[1]
            if (last[0] == last[1] and stride <= 2) or stride == last[2]:
                last[1], last[2] = c, stride
                continue
        found.append([c, c, 1, delta])
    return found


def emit(type_name, name, rows):
    items = ["{" + ", ".join(hex(v) if i < 2 else str(v) for i, v in enumerate(row)) + "}" for row in rows]
    print(f"constexpr {type_name} {name}_table[] = {{")
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            print(line)
            line = "   "
        line += " " + item + ","
    print(line)
    print("};")


def main():
    if unicodedata.unidata_version != "14.0.0":
        sys.exit(f"Unicode {unicodedata.unidata_version} instead of 14.0.0; run with Python 3.11")
    longer = {c for c in CODE_POINTS if len(chr(c).lower()) > 1}
    assert longer == {0x130}, longer
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Made by cmake/make_unicode_tables.py with Python 3.11, Unicode 14.0; not for editing.")
    print("// clang-format off")
    print('#include "data/text/unicode_tables.hpp"\n')
    print("namespace lockstep::data::unicode {\nnamespace {\n")
    names = {"word": re.compile(r"\w").match, "space": re.compile(r"\s").match,
             "cased": is_cased, "ignorable": is_ignorable}
    for name, holds in names.items():
        emit("Range", name, ranges(holds))
        print()
    emit("LowerRange", "lower", lower_ranges())
    print("\n}  // namespace\n")
    for name in names:
        print(f"const std::span<const Range> {name}_ranges = {name}_table;")
    print("const std::span<const LowerRange> lower_ranges = lower_table;\n")
    print("}  // namespace lockstep::data::unicode")


main()
