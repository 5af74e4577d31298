#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a prepared data directory with h5py as docs/data-format.md says, and checks that it holds.

    check_shards.py DIR
"""
import json
import sys
from pathlib import Path

import h5py
import numpy as np

BLOCK = 64


def check_references(shard, rows):
    first, offsets = shard["reference_rows"][:], shard["reference_offsets"][:]
    text = shard["reference_text"][:].tobytes()
    assert len(first) == rows + 1 and first[-1] == len(offsets) - 1 and offsets[-1] == len(text)
    for row in range(rows):
        labels = [text[offsets[a]:offsets[a + 1]].decode() for a in range(first[row], first[row + 1])]
        assert labels, f"row {row} has no label"


def check_spans(shard, lengths):
    """Returns the number of labels of each row."""
    spans, first = shard["spans"][:].astype(np.int64), shard["span_offsets"][:].astype(np.int64)
    assert first[0] == 0 and first[-1] == len(spans) and len(first) == len(lengths) + 1
    labels = []
    for row, (source, target) in enumerate(lengths):
        own = spans[first[row]:first[row + 1]]
        assert own[0, 0] == source and own[-1, 1] == source + target
        assert np.all(own[:, 0] < own[:, 1]) and np.all(own[:-1, 1] <= own[1:, 0])
        labels.append((own[:, 1] - own[:, 0]).sum())
    return np.array(labels)


def check_shard(path, number, split, info, index):
    shards = len(split["shards"])
    with h5py.File(path) as shard:
        in_spans = "label_tokens" in split
        expected = {"format_version": 2 if in_spans else 1, "kind": info["kind"], "tokenizer": info["tokenizer"],
                    "dictionary_hash": info["dictionary_hash"], "split": split["name"],
                    "shard": number, "shards": shards, "rows": split["shards"][number]["rows"],
                    "token_count": split["shards"][number]["tokens"]}
        for name, value in expected.items():
            found = shard.attrs[name]
            found = found.decode() if isinstance(found, bytes) else found
            assert found == value, (path, name, found, value)
        tokens, offsets, ids = shard["tokens"][:], shard["offsets"][:], shard["row_ids"][:]
        assert (tokens.dtype, offsets.dtype, ids.dtype) == (np.int32, np.uint64, np.uint32)
        assert all(shard[name].fletcher32 for name in ("tokens", "offsets", "row_ids"))
        rows = len(ids)
        assert len(offsets) == 2 * rows + 1 and offsets[0] == 0 and offsets[-1] == len(tokens)
        assert np.all(np.diff(offsets.astype(np.int64)) >= 0)
        assert tokens.min() >= 0 and tokens.max() < info["vocabulary"]
        local = np.arange(rows)
        assert np.array_equal(ids, (local // BLOCK * shards + number) * BLOCK + local % BLOCK)
        lengths = np.diff(offsets.astype(np.int64)).reshape(rows, 2)
        if in_spans:
            lengths = np.column_stack([lengths, check_spans(shard, lengths)])
        assert np.array_equal(index[f"/{split['name']}/{number:05d}"][:], lengths)
        if info["kind"] == "dialogue":
            assert np.all(lengths > 0)
            ends = info.get("special_tokens", {}).get("ends", [2])
            assert np.all(np.isin(tokens[offsets[2::2] - 1], ends)), "a target without its end"
        if "reference_rows" in shard:
            check_references(shard, rows)
        else:
            assert split["name"] == "train" or info["kind"] != "dialogue"
        return ids


def main():
    directory = Path(sys.argv[1])
    info = json.loads((directory / "dataset.json").read_text())
    in_spans = any("label_tokens" in split for split in info["splits"])
    assert info["format_version"] == (2 if in_spans else 1) and info["rows_per_block"] == BLOCK
    with h5py.File(directory / "index.h5") as index:
        for split in info["splits"]:
            ids = [check_shard(directory / shard["file"], number, split, info, index)
                   for number, shard in enumerate(split["shards"])]
            assert np.array_equal(np.sort(np.concatenate(ids)), np.arange(split["rows"]))
    print("ok")


main()
