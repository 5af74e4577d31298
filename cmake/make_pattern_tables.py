#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of data/patterns: what Hugging Face's `tokenizers` knows about code points.

Run with Python 3.11 (Unicode 14.0), `tokenizers` 0.23.3 and PCRE2 10.42:
    python3.11 cmake/make_pattern_tables.py classes > data/patterns/class_tables.cpp
    python3.11 cmake/make_pattern_tables.py properties > data/patterns/property_items.cpp
    python3.11 cmake/make_pattern_tables.py nfc > data/patterns/nfc_tables.cpp
"""
import ctypes
import sys
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
PARTS = ["".join(map(chr, CODE_POINTS[i:i + 20000])) for i in range(0, len(CODE_POINTS), 20000)]
HANGUL = range(0xAC00, 0xD7A4)
# PCRE2 takes these for the property, and `tokenizers` no longer does.
NO_LONGER = {"Mn": {0x1171E}}
CATEGORIES = ("L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp Cc Cf")
SCRIPTS = "Arabic Cyrillic Devanagari Greek Han Hangul Hebrew Hiragana Katakana Latin Thai"


def matched(pattern):
    """The code points that a regular expression of `tokenizers` takes."""
    remove = normalizers.Replace(Regex(pattern), "")
    found = set()
    for part in PARTS:
        found |= set(map(ord, part)) - set(map(ord, remove.normalize_str(part)))
    return found


def punctuation():
    taken = pre_tokenizers.Punctuation("removed")
    return {ord(c) for part in PARTS for c in part} - {
        ord(c) for part in PARTS for piece, _ in taken.pre_tokenize_str(part) for c in piece}


def numeric():
    apart = pre_tokenizers.Digits(individual_digits=False)
    return {ord(c) for part in PARTS for piece, _ in apart.pre_tokenize_str("a".join(part) + "a")
            if "a" not in piece for c in piece}


class Pcre2:
    def __init__(self):
        self.library = ctypes.CDLL("libpcre2-8.so.0")
        for name in ("pcre2_compile_8", "pcre2_match_data_create_8"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.library.pcre2_get_ovector_pointer_8.restype = ctypes.POINTER(ctypes.c_size_t)

    def matched(self, items):
        utf, ucp = 0x00080000, 0x00020000
        pattern = f"[{items}]+".encode()
        error, place = ctypes.c_int(), ctypes.c_size_t()
        code = self.library.pcre2_compile_8(pattern, ctypes.c_size_t(len(pattern)), ctypes.c_uint32(utf | ucp),
                                            ctypes.byref(error), ctypes.byref(place), None)
        assert code, (items, error.value)
        data = ctypes.c_void_p(self.library.pcre2_match_data_create_8(ctypes.c_uint32(1), None))
        ends = self.library.pcre2_get_ovector_pointer_8(data)
        found = set()
        for part in PARTS:
            text, at = part.encode(), 0
            while self.library.pcre2_match_8(ctypes.c_void_p(code), text, ctypes.c_size_t(len(text)),
                                             ctypes.c_size_t(at), ctypes.c_uint32(0), data, None) > 0:
                at = ends[1]
                found |= set(map(ord, text[ends[0]:at].decode()))
        return found


def ranges(code_points):
    found = []
    for c in sorted(code_points):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def emit_rows(declaration, rows):
    print(f"{declaration} = {{")
    line = "   "
    for row in rows:
        item = "{" + ", ".join(f"{v:#x}" for v in row) + "},"
        if len(line) + len(item) + 1 > 100:
            print(line)
            line = "   "
        line += " " + item
    print(line + "\n};")


def combining_classes():
    """Python's classes, without the marks that NFD of `tokenizers` leaves where they are."""
    nfd = normalizers.NFD()
    classes = {}
    for c in CODE_POINTS:
        value = unicodedata.combining(chr(c))
        low, high = "\u0334", "\u0345"  # classes 1 and 240
        if nfd.normalize_str(chr(c) + low) == low + chr(c) or nfd.normalize_str(high + chr(c)) == chr(c) + high:
            assert value, hex(c)
            classes[c] = value
    return classes


def decompositions():
    """{composed: (first, second)}; second is 0 where one character stands for another. Hangul is left out."""
    nfd, pairs = normalizers.NFD(), {}
    for c in CODE_POINTS:
        if c in HANGUL or nfd.normalize_str(chr(c)) == chr(c):
            continue
        steps = unicodedata.decomposition(chr(c))
        assert steps and "<" not in steps, hex(c)
        pairs[c] = tuple(int(step, 16) for step in (steps + " 0").split()[:2])
    return pairs


def compositions(pairs):
    nfc = normalizers.NFC()
    return {pair: c for c, pair in pairs.items()
            if pair[1] and nfc.normalize_str(chr(pair[0]) + chr(pair[1])) == chr(c)}


def unsettled():
    """What NFC may change, or join to the character before."""
    nfc = normalizers.NFC()
    pairs = decompositions()
    found = {c for c in CODE_POINTS if nfc.normalize_str(chr(c)) != chr(c)} | set(combining_classes())
    found |= {second for _, second in compositions(pairs)}
    return found | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))


def write_classes():
    bits = [0] * 0x110000
    for bit, members in enumerate((matched(r"\p{L}"), matched(r"\p{N}"), matched(r"\p{M}"), matched(r"\s"),
                                   punctuation(), numeric(), unsettled())):
        for c in members:
            bits[c] |= 1 << bit
    starts = [(c, bits[c]) for c in range(0x110000) if c == 0 or bits[c] != bits[c - 1]]
    print('#include "data/patterns/class_tables.hpp"\n\nnamespace lockstep::data {\nnamespace {\n')
    emit_rows("constexpr ClassRange class_table[]", starts + [(0x110000, 0)])
    print("\n}  // namespace\n")
    print("const std::span<const ClassRange> class_ranges = class_table;")
    print("const std::array<std::uint16_t, class_pages_count> class_pages = pages_of(class_table);")
    print("const std::array<unsigned char, 128> ascii_classes = ascii_of(class_table);")


def write_properties():
    pcre2 = Pcre2()
    print('#include "data/patterns/property_items.hpp"\n\nnamespace lockstep::data {\nnamespace {\n')
    print("constexpr PropertyItems property_table[] = {")
    bases = {name: f"\\p{{{name}}}" for name in CATEGORIES.split()}
    bases |= {name: f"\\p{{sc:{name}}}" for name in SCRIPTS.split()}
    bases["w"] = bases["[w]"] = r"\p{L}\p{M}\p{Nd}\p{Pc}"
    patterns = {"w": "\\w", "[w]": "[\\w]"}
    for name, base in bases.items():
        ours = matched(patterns.get(name, f"\\p{{{name}}}"))
        theirs = pcre2.matched(base)
        assert theirs - ours <= NO_LONGER.get(name, set()), (name, theirs - ours)
        items = base + "".join(f"\\x{{{a:x}}}" + (f"-\\x{{{b:x}}}" if b > a else "") for a, b in ranges(ours - theirs))
        print(f'    {{"{name}",')
        items = items.replace("\\", "\\\\")
        while items:
            cut = len(items) if len(items) <= 88 else items.rindex("\\\\", 0, 88)
            print(f'     "{items[:cut]}"' + ("}," if cut == len(items) else ""))
            items = items[cut:]
    print("};\n\n}  // namespace\n\nconst std::span<const PropertyItems> property_items = property_table;")


def write_nfc():
    pairs = decompositions()
    classes = combining_classes()
    runs = []
    for c in sorted(classes):
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == classes[c]:
            runs[-1][1] = c
        else:
            runs.append([c, c, classes[c]])
    print('#include "data/patterns/nfc_tables.hpp"\n\nnamespace lockstep::data {\nnamespace {\n')
    emit_rows("constexpr CombiningRange combining_table[]", runs)
    emit_rows("\nconstexpr Decomposition decomposition_table[]", [(c, *pair) for c, pair in sorted(pairs.items())])
    emit_rows("\nconstexpr Decomposition composition_table[]",
              [(c, *pair) for pair, c in sorted(compositions(pairs).items())])
    print("\n}  // namespace\n")
    print("const std::span<const CombiningRange> combining_ranges = combining_table;")
    print("const std::span<const Decomposition> decompositions = decomposition_table;")
    print("const std::span<const Decomposition> compositions = composition_table;")


def main():
    writers = {"classes": write_classes, "properties": write_properties, "nfc": write_nfc}
    if len(sys.argv) != 2 or sys.argv[1] not in writers:
        sys.exit(f"make_pattern_tables.py: give one of {', '.join(writers)}")
    if unicodedata.unidata_version != "14.0.0" or tokenizers.__version__ != "0.23.3":
        sys.exit("make_pattern_tables.py: run with Python 3.11 and tokenizers 0.23.3")
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Made by cmake/make_pattern_tables.py with tokenizers 0.23.3; not for editing.")
    print("// clang-format off")
    writers[sys.argv[1]]()
    print("\n}  // namespace lockstep::data")


main()
