#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/patterns.json: what Hugging Face's `tokenizers` makes of strange texts.

Run with `tokenizers` 0.23.3:
    python3 tests/data/patterns/make_patterns_golden.py > tests/golden/patterns.json

A match is [begin, end] in bytes; empty ones are left out. A checksum is zlib.crc32 of the matches of some texts, each text's
as "begin end begin end ...\\n", or of what is left of a text, or of normalized texts, each with a line end.
- "awkward": texts with their matches.
- "sweep": the texts of sweep_text() for all code points, a checksum for each 0x4000 of them.
- "random": texts of random_texts(seed), a checksum for each 100 of them.
"""
import json
import zlib

from tokenizers import Regex, normalizers, pre_tokenizers

CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"


def llama(letter, others, numbers):
    return (rf"(?i:{CONTRACTIONS})|[^\r\n\p{{L}}\p{{N}}]?{letter}+|{numbers}| ?[^\s{others}]+[\r\n]*|" + SPACES)


UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
FIRST = r"[^\r\n\p{L}\p{N}]?"
WHOLE = {  # patterns that leave nothing between their matches
    "gpt2": CONTRACTIONS + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama3": llama(r"\p{L}", r"\p{L}\p{N}", r"\p{N}{1,3}"),
    "qwen2": llama(r"\p{L}", r"\p{L}\p{N}", r"\p{N}"),
    "qwen3.5": llama(r"[\p{L}\p{M}]", r"\p{L}\p{M}\p{N}", r"\p{N}"),
    "tekken": rf"{FIRST}{UPPER}*{LOWER}+|{FIRST}{UPPER}+{LOWER}*|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|" + SPACES,
}
GAPS = {
    "gpt4o": rf"{FIRST}{UPPER}*{LOWER}+(?i:{CONTRACTIONS})?|{FIRST}{UPPER}+{LOWER}*(?i:{CONTRACTIONS})?|\p{{N}}{{1,3}}"
             r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES,
    "gpt4": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    "deepseek": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
                r"| ?[\p{P}\p{S}]+[\r\n]*|" + SPACES,
    "clip": r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    "words": r"\w+|[^\w\s]+",
    "scripts": r"[一-龥]+|\p{Han}+|\p{Hiragana}|\p{Latin}{2,3}?|\d+",
    "line ends": r"\s+$|[^\S\r\n]+",
    "looks behind": r"(?<=\p{L})\p{N}+|(?<![\p{L}'])\p{L}+?(?=\S)",
    "may be empty": r"a*|\-|\_",
    "any case": r"(?i:[k-t]+|d)",
}
NAMES = ("L Lu Ll Lt Lm Lo M Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp Cc Cf "
         "Arabic Cyrillic Devanagari Greek Han Hangul Hebrew Hiragana Katakana Latin Thai").split()
CLASSES = [rf"\p{{{name}}}" for name in NAMES] + [r"\s", r"\S", r"\d", r"\w", r"[\w]", r"[^\w]", r"[^\s]", r"[^\S]"]
AWKWARD = [
    "", " ", "  ", " a", "  a", "a  b", "\n", " \n", "\n ", "a\n\n b \r\n\tc", "\t\tif x:\n\t\t\treturn  1\n\n", "don't we'll I'VE",
    "'s's'S 'ſ'ſ he'ſ", "'l 'r 'v 'll'LL'Ll", "it's'ts", "1234567 ١٢٣٤ ²³ Ⅳ½", "e\u0301a\u0327 \u0301 \u0301a", "नमस्ते दुनिया",
    "日本語と한국어。", "\u00a0\u3000x\u2028y\u0085z", "\x1c\x1da\x1e \x1f", "a\u180eb \u200bc", "!?...\r\n\n  ", " ,\n,\r,", "👩‍👩‍👧 👍🏽!",
    "\U00011f04\U00016d40 \U00010d40\U0001ccf0\U0001e4ec", "<|endoftext|><|startoftext|>", "ABCdefGHI JsoN'S", "/path/to\n/x", " -_-a-aa",
    "\ufeffBOM", "\x00\x01 \x7f",
]
ALPHABETS = [
    "abcsStTrReEvVmMlLdD'ſ'' \t\n\r\n 123²٣aé\u0301KÖßﬆ", "a1 \n\r\t\u00a0\u3000\u2028\u0085\x1c\x1f\u180e\u200b.,!?'",
    "日本語ひらがなカタ한국어 \u1100\u1161\u11a8٠١२३Ⅳ½\U00011f04\U00016d40\U00013440\U0001ccf0\U0001e4ec\U00010d40.,'s",
    "ab'sS 1\n\r-_x/", "e\u0301\u0327\u0345\u0334\u093c\u0915\u094d\u0308a\u0323o\u031b\u1ea0\u212b\u0958\u2126\U00011938\U00011935"
    "\U00011930 \u0374\U0001d15e\uac00\u11a8\u0897\u1ac8\u05b0\u05c1\u0650\u064b",
]


def sweep_text(c):
    c = chr(c)
    return f"{c}|a{c}b|1{c} {c}{c}  {c}\n"


def random_texts(seed):
    """2,000 texts; each number is the upper half of a step of Knuth's generator of 64 bits."""
    state = seed

    def below(limit):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 32) % limit

    texts = []
    for _ in range(2000):
        alphabet = ALPHABETS[below(len(ALPHABETS))]
        texts.append("".join(alphabet[below(len(alphabet))] for _ in range(below(40))))
    return texts


def splits(pattern):
    return [pre_tokenizers.Split(Regex(pattern), behavior) for behavior in ("isolated", "removed")]


def matches(pair, text, whole):
    isolated, removed = pair
    left = set() if whole else {span for _, span in removed.pre_tokenize_str(text)}
    found, at = [], 0
    for piece, span in isolated.pre_tokenize_str(text):
        end = at + len(piece.encode())
        if span not in left:
            found += [at, end]
        at = end
    return found


def checksum(lines):
    return zlib.crc32("".join(line + "\n" for line in lines).encode())


def blocks(size):
    for first in range(0, 0x110000, size):
        members = [c for c in range(first, first + size) if not 0xD800 <= c < 0xE000]
        if members:
            yield members


def of_pattern(name, pattern, whole):
    pair = splits(pattern)

    def line(text):
        return " ".join(map(str, matches(pair, text, whole)))

    record = {"name": name, "pattern": pattern, "awkward": [matches(pair, t, whole) for t in AWKWARD]}
    if whole:
        record["sweep"] = [checksum(line("".join(map(sweep_text, members[i:i + 64]))) for i in range(0, len(members), 64))
                           for members in blocks(0x4000)]
    texts = random_texts(len(pattern))
    record["random"] = [checksum(map(line, texts[i:i + 100])) for i in range(0, len(texts), 100)]
    return record


def of_class(pattern):
    remove = normalizers.Replace(Regex(pattern), "")
    return {"pattern": pattern, "sweep": [checksum([remove.normalize_str("".join(map(chr, m)))]) for m in blocks(0x4000)]}


def of_nfc():
    nfc = normalizers.NFC().normalize_str
    texts = random_texts(1)
    return {
        "sweep": [checksum(nfc(f"{chr(c)}a{chr(c)}\u0301{chr(c)}\u0323\u1161{chr(c)}\u11a8") for c in m) for m in blocks(0x4000)],
        "random": [checksum(map(nfc, texts[i:i + 100])) for i in range(0, len(texts), 100)],
    }


def main():
    patterns = [of_pattern(name, p, True) for name, p in WHOLE.items()]
    patterns += [of_pattern(name, p, False) for name, p in GAPS.items()]
    print(json.dumps({"texts": AWKWARD, "alphabets": ALPHABETS, "patterns": patterns,
                      "classes": [of_class(p) for p in CLASSES], "nfc": of_nfc()}, separators=(",", ":")).replace("},{", "},\n{"))


main()
