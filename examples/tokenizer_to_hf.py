#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a tokenizer of Hugging Face's transformers of the one in a Lockstep model folder or data set.

    tokenizer_to_hf.py FOLDER OUT

Writes tokenizer.json and tokenizer_config.json into the folder OUT, for AutoTokenizer.from_pretrained(OUT). It needs nothing
but Python. weights_to_hf.py calls it, too.

Texts get the same token ids, with two exceptions. As with every tokenizer of transformers, a special token that is written
out in a text, as __end__, is that token, and Lockstep reads it as text. And U+2581, which SentencePiece writes for a blank, is a
blank there; Lockstep writes its three bytes.
"""

import argparse
import base64
import json
import pathlib
import shutil
import struct
import sys

FOREIGN_FILES = ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt",
                 "chat_template.jinja", "generation_config.json"]
SPECIALS = ["__null__", "__start__", "__end__", "__unk__"]
LINE_FEED = "<0x0A>"
BLANK = "\u2581"
UNIGRAM, BPE = 1, 2
NORMAL, USER_DEFINED, UNUSED, BYTE = 1, 4, 5, 6

# Python's \w, as Lockstep splits words: letters, all kinds of numbers, and _. The \w of tokenizers' regular expressions has marks, too.
WORD = r"[\p{L}\p{N}_]"
# The blanks of Python's \s that tokenizers' \s does not have are U+001C to U+001F.
OTHER = r"[^\p{L}\p{N}_\s\x1C-\x1F]"


class Unsupported(Exception):
    """Why transformers' tokenizers cannot do what a tokenizer does."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Yields number and value of the fields of a serialised protocol buffer; a float is its four bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def piece(message):
    text, score, kind = "", 0.0, NORMAL
    for number, value in fields(message):
        if number == 1:
            text = value.decode("utf-8")
        elif number == 2:
            score = struct.unpack("<f", value)[0]
        elif number == 3:
            kind = value
    return text, score, kind


def read_sentencepiece(data):
    """Returns the pieces (text, score, kind), and the fields of trainer and normalizer, of a SentencePiece model."""
    pieces, trainer, normalizer = [], {}, {}
    for number, value in fields(data):
        if number == 1:
            pieces.append(piece(value))
        elif number == 2:
            trainer = dict(fields(value))
        elif number == 3:
            normalizer = dict(fields(value))
    return pieces, trainer, normalizer


def added_token(number, content, special):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": special}


def replaced(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def normalizers(spec):
    """Returns what SentencePiece does to a line before it looks for pieces."""
    steps = []
    if spec.get(2):
        steps.append({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(spec[2]).decode()})
    if spec.get(4, 1):
        steps += [{"type": "Strip", "strip_left": True, "strip_right": True}, replaced({"Regex": " {2,}"}, " ")]
    if spec.get(3, 1):
        steps.append({"type": "Prepend", "prepend": BLANK})
    return {"type": "Sequence", "normalizers": [*steps, replaced({"String": " "}, BLANK)]}


def decoder(spec):
    # Each line loses the blank that encoding has put before it.
    first = [replaced({"Regex": f"(?<![^\\n]){BLANK}"}, "")] if spec.get(3, 1) else []
    return {"type": "Sequence",
            "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}, *first, replaced({"String": BLANK}, " ")]}


def unigram(pieces):
    # A byte is no piece that a text may spell: <0x41> is cut after its first letter, so that it is not found.
    split = {"type": "Split", "pattern": {"Regex": "<(?=0x[0-9A-F]{2}>)"}, "behavior": "Isolated", "invert": False}
    model = {"type": "Unigram", "unk_id": 3, "vocab": [[text, score] for text, score, _ in pieces], "byte_fallback": True}
    return model, split


def bpe(pieces):
    ids = {text: number for number, (text, _, _) in enumerate(pieces)}
    joined = {text for text, _, kind in pieces if kind in (NORMAL, USER_DEFINED)}
    merges = []
    for text, score, kind in pieces:
        pairs = [(text[:i], text[i:]) for i in range(1, len(text))] if kind == NORMAL else []
        pairs = [pair for pair in pairs if joined.issuperset(pair)]
        merges += [(score, pair) for pair in sorted(pairs, key=lambda pair: (ids[pair[0]], ids[pair[1]]))]
    merges.sort(key=lambda merge: -merge[0])
    return {"type": "BPE", "dropout": None, "unk_token": SPECIALS[3], "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": True, "byte_fallback": True, "vocab": ids, "merges": [list(pair) for _, pair in merges]}


def of_sentencepiece(data):
    pieces, trainer, normalizer = read_sentencepiece(data)
    kind = trainer.get(3, UNIGRAM)
    if kind not in (UNIGRAM, BPE):
        raise Unsupported("is neither a unigram nor a bpe model")
    if trainer.get(24, 0) or not normalizer.get(5, 1):
        raise Unsupported("treats blanks in another way")
    if any(one[2] == UNUSED for one in pieces):
        raise Unsupported("has pieces that it does not use")
    specials = [text for text, _, _ in pieces[:4]]
    line_feed = [text for text, _, _ in pieces].index(LINE_FEED)
    if any(text == "\n" for text, _, _ in pieces):
        raise Unsupported("has a piece for line feeds besides the byte")
    # Lockstep encodes line by line, and a line feed is its byte. An added token ends the line before it.
    pieces[line_feed] = ("\n", pieces[line_feed][1], BYTE)
    model, split = unigram(pieces) if kind == UNIGRAM else (bpe(pieces), None)
    added = [added_token(number, text, True) for number, text in enumerate(specials)]
    added += [added_token(number, text, False) for number, (text, _, kind) in enumerate(pieces)
              if kind == USER_DEFINED or number == line_feed]
    return specials, {"added_tokens": added, "normalizer": normalizers(normalizer), "pre_tokenizer": split, "model": model,
                      "decoder": decoder(normalizer)}


def unescaped(token):
    for escape, letter in [("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r")]:
        token = token.replace(escape, letter)
    return token


def of_dictionary(text, lower):
    ids, largest = {}, 0
    for line in text.split("\n"):
        if not line:
            continue
        token, count = (line.rstrip("\r").split("\t") + ["0"])[:2]
        if token not in SPECIALS:
            largest = max(largest, int(count))
        ids.setdefault(unescaped(token), len(ids))
    if largest > 1_000_000_003:
        raise Unsupported("has special tokens of its own")
    split = {"type": "Split", "pattern": {"Regex": f"{WORD}+|{OTHER}|\\n"}, "behavior": "Removed", "invert": True}
    return SPECIALS, {"added_tokens": [added_token(number, token, True) for number, token in enumerate(SPECIALS)],
                      "normalizer": {"type": "Lowercase"} if lower else None, "pre_tokenizer": split,
                      "model": {"type": "WordLevel", "vocab": ids, "unk_token": SPECIALS[3]}, "decoder": None}


def description_path(folder):
    """Returns the file in which Lockstep describes the folder's tokenizer."""
    foreign = folder / "lockstep_tokenizer.json"
    return foreign if foreign.exists() else folder / "tokenizer.json"


def is_foreign(description):
    """Tells whether the tokenizer came from transformers. Then its files lie in the folder as they were."""
    return description.get("tokenizer") == "huggingface"


def tokenizer_of(folder):
    """Returns the special tokens, and the contents of tokenizer.json."""
    description = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    content = (folder / description["file"]).read_bytes()
    if description["tokenizer"] == "sentencepiece":
        specials, parts = of_sentencepiece(content)
    else:
        specials, parts = of_dictionary(content.decode("utf-8"), description["letter_case"] == "lower")
    return specials, {"version": "1.0", "truncation": None, "padding": None, "post_processor": None, **parts}


def config_of(specials, n_positions):
    return {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": specials[0], "bos_token": specials[1], "eos_token": specials[2],
            "unk_token": specials[3], "clean_up_tokenization_spaces": False, "padding_side": "left",
            **({"model_max_length": n_positions} if n_positions else {})}


def write(folder, out, n_positions=None):
    """Writes both files for the tokenizer of `folder`. Throws Unsupported before it writes."""
    if is_foreign(json.loads(description_path(folder).read_text(encoding="utf-8"))):
        out.mkdir(parents=True, exist_ok=True)
        for name in FOREIGN_FILES:
            if (folder / name).exists():
                shutil.copy(folder / name, out / name)
        return
    specials, tokenizer = tokenizer_of(folder)
    out.mkdir(parents=True, exist_ok=True)
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (out / "tokenizer_config.json").write_text(json.dumps(config_of(specials, n_positions), indent=2) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT")
    args = parser.parse_args()
    try:
        if (args.out / "tokenizer.json").exists():
            sys.exit(f"tokenizer_to_hf.py: {args.out}/tokenizer.json: is there already; name a new folder")
        write(args.folder, args.out)
    except Unsupported as problem:
        sys.exit(f"tokenizer_to_hf.py: {args.folder}: its tokenizer {problem}, which transformers' tokenizers cannot do")
    except (OSError, KeyError, ValueError, IndexError) as problem:
        sys.exit(f"tokenizer_to_hf.py: {args.folder}: has no sound tokenizer ({problem}); copy it again")


if __name__ == "__main__":
    main()
