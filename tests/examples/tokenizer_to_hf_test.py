#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tokenizers that examples/tokenizer_to_hf.py writes give the token ids that `lockstep prepare` has written.

    tokenizer_to_hf_test.py LOCKSTEP

Encodes texts as tokenizer.json says, with as much of that format as these files have, written here anew. Where Python has the
package tokenizers, that encodes them as well.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import h5py
import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import tokenizer_to_hf  # noqa: E402

TEXTS = [
    "hello", "hello there, good morrow", "a  b   c", "ROMEO: But, soft!", "two\nlines", "three\n\nlines", "na\u00efve caf\u00e9",
    "\u65e5\u672c\u8a9e", "\U0001F600 smile", "<0x41> <0x0A>", "aaaaaaaaa", "-----", "e\u0301 x\u00b2 _y_ 9\u00bd",
    "tab\there", "don't 'tis o'er", "mississippi hahaha", "Z\u00fcrich STRASSE",
]
# Pieces of these may stand in several orders, which have the same score in the fp64 of the package tokenizers.
TIES = ["aaaaaaaaa", "-----"]


def expression(pattern):
    """Returns a pattern of tokenizers for Python, which has no classes of letters by name."""
    return pattern.replace(tokenizer_to_hf.OTHER, r"[^\w\s]").replace(tokenizer_to_hf.WORD, r"\w")


def normal(spec, text):
    kind = spec["type"]
    if kind == "Sequence":
        for step in spec["normalizers"]:
            text = normal(step, text)
        return text
    if kind == "Replace":
        return text.replace(spec["pattern"]["String"], spec["content"])
    return {"Prepend": lambda: spec["prepend"] + text, "Lowercase": text.lower}[kind]()


def words(spec, text):
    if spec is None:
        return [text]
    pattern = expression(spec["pattern"]["Regex"])
    if spec["invert"]:
        return re.findall(pattern, text)
    return [part for part in re.split(f"({pattern})", text) if part]


def bytes_of(vocabulary, text):
    return [vocabulary[f"<0x{byte:02X}>"] for byte in text.encode()]


def unigram(model, text):
    """Returns the pieces of the best score, which SentencePiece adds in fp32: of orders of equal pieces one is the best then."""
    vocabulary = {piece: (number, numpy.float32(score)) for number, (piece, score) in enumerate(model["vocab"])}
    ids = {piece: number for piece, (number, _) in vocabulary.items()}
    unknown = numpy.float32(min(score for _, score in model["vocab"]) - 10)
    best = [(numpy.float32(0), [])] + [None] * len(text)
    for end in range(1, len(text) + 1):
        for begin in range(max(0, end - 20), end):
            piece = text[begin:end]
            number, score = vocabulary.get(piece, (None, unknown))
            if number is None and end - begin > 1:
                continue
            total = best[begin][0] + score
            if best[end] is None or total > best[end][0]:
                best[end] = (total, best[begin][1] + ([number] if number is not None else bytes_of(ids, piece)))
    return best[-1][1]


def bpe(model, text):
    ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
    pieces = list(text)
    while True:
        pairs = [(ranks.get(pair), at) for at, pair in enumerate(zip(pieces, pieces[1:])) if pair in ranks]
        if not pairs:
            break
        at = min(pairs)[1]
        pieces[at:at + 2] = [pieces[at] + pieces[at + 1]]
    return [number for piece in pieces
            for number in ([model["vocab"][piece]] if piece in model["vocab"] else bytes_of(model["vocab"], piece))]


def encoded(tokenizer, text):
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    model, ids = tokenizer["model"], []
    encode = {"Unigram": lambda word: unigram(model, word), "BPE": lambda word: bpe(model, word),
              "WordLevel": lambda word: [model["vocab"].get(word, 3)]}[model["type"]]
    for part in re.split("(" + "|".join(map(re.escape, added)) + ")", text):
        if part in added:
            ids.append(added[part])
        elif part:
            line = normal(tokenizer["normalizer"], part) if tokenizer["normalizer"] else part
            ids += [number for word in words(tokenizer["pre_tokenizer"], line) for number in encode(word)]
    return ids


def decoded(tokenizer, ids):
    vocabulary = tokenizer["model"]["vocab"]
    names = [piece for piece, _ in vocabulary] if isinstance(vocabulary, list) else list(vocabulary)
    if tokenizer["decoder"] is None:
        return " ".join(names[number] for number in ids)
    data = b"".join(bytes([int(names[number][3:5], 16)]) if re.fullmatch("<0x[0-9A-F]{2}>", names[number]) else names[number].encode()
                    for number in ids)
    text = data.decode()
    for step in tokenizer["decoder"]["decoders"][2:]:
        [(kind, pattern)] = step["pattern"].items()
        text = re.sub(pattern if kind == "Regex" else re.escape(pattern), step["content"], text)
    return text


def sources(data):
    """Returns the tokens of the contexts, in the order of the rows."""
    rows = []
    for shard in sorted(data.glob("train*.h5")) or sorted(data.rglob("*train*/*.h5")):
        with h5py.File(shard) as file:
            tokens, offsets = file["tokens"][:], file["offsets"][:]
            rows += [tokens[offsets[2 * r]:offsets[2 * r + 1]].tolist() for r in range((len(offsets) - 1) // 2)]
    return rows


def check(lockstep, folder, options, letter):
    texts = TEXTS + (ROOT / "examples/shakespeare/plain.txt").read_text(encoding="utf-8").split("\n")[:400]
    texts = [text for text in texts if text.strip(" ")]
    lines = [{"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "yes"}]} for text in texts]
    (folder / "talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    data, out = folder / "data", folder / "out"
    done = subprocess.run([lockstep, "prepare", "--format", "messages", "--input", folder / "talk.jsonl", "--out", data, *options],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tokenizer_to_hf.write(data, out, 128)
    tokenizer = json.loads((out / "tokenizer.json").read_text(encoding="utf-8"))
    config = json.loads((out / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["eos_token"] == "__end__" and config["model_max_length"] == 128, config
    wanted = sources(data)
    assert len(wanted) == len(texts), (len(wanted), len(texts))
    try:
        from tokenizers import Tokenizer
        real = Tokenizer.from_file(str(out / "tokenizer.json"))
    except ModuleNotFoundError:
        real = None
    for text, ids in zip(texts, wanted):
        assert encoded(tokenizer, text) == ids, (text, encoded(tokenizer, text), ids)
        assert real is None or text in TIES or real.encode(text).ids == ids, (text, real.encode(text).ids, ids)
        if letter == "kept" and tokenizer_to_hf.BLANK not in text:
            assert decoded(tokenizer, ids) == text, (text, decoded(tokenizer, ids))
            assert real is None or real.decode(ids) == text, (text, real.decode(ids))
    print(f"{' '.join(options)}: {len(texts)} texts, {'by the package tokenizers, too' if real else 'without the package tokenizers'}")


def main():
    pieces = ["--tokenizer", "sentencepiece", "--vocab-size", "500"]
    for options, letter in [(pieces, "kept"), ([*pieces, "--sentencepiece-model", "bpe"], "kept"), (["--dict-lower", "true"], "lower"),
                            ([], "words")]:
        with tempfile.TemporaryDirectory() as folder:
            check(sys.argv[1], pathlib.Path(folder), options, letter)


if __name__ == "__main__":
    main()
