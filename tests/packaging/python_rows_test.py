#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package reads the rows of prepared data as they are, and prepares rows of Python.

    python_rows_test.py LOCKSTEP
"""
import io
import json
import os
import pathlib
import pickle
import sys
import tempfile
import unittest

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging/python"))
os.environ["LOCKSTEP_PROGRAM"] = str(pathlib.Path(sys.argv.pop(1)).resolve())

import lockstep  # noqa: E402
import lockstep.rows  # noqa: E402


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        lines = (ROOT / "examples/shakespeare/train.txt").read_text().splitlines(keepends=True)[:400]
        (cls.folder / "train.txt").write_text("".join(lines))
        lockstep.run(["prepare", "--input", cls.folder / "train.txt", "--out", cls.folder / "data", "--shards", 3])

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_rows_are_those_of_the_shards(self):
        data = lockstep.Dataset(self.folder / "data")
        rows = {}
        for path in (self.folder / "data").glob("train-*.h5"):
            with h5py.File(path) as file:
                tokens, offsets = file["tokens"][:], file["offsets"][:]
                for place, row in enumerate(file["row_ids"][:]):
                    begin, middle, end = offsets[2 * place:2 * place + 3].astype(int)
                    rows[int(row)] = (tokens[begin:middle], tokens[middle:end])
        self.assertEqual(len(data), len(rows))
        self.assertGreater(len(data), 3 * 64, "every shard has rows, and a rest")
        for number, row in enumerate(data):
            np.testing.assert_array_equal(row.source, rows[number][0])
            np.testing.assert_array_equal(row.target, rows[number][1])
        np.testing.assert_array_equal(data[-1].target, rows[len(rows) - 1][1])
        self.assertEqual(len(data[1:4]), 3)
        with self.assertRaises(IndexError):
            data[len(data)]
        with self.assertRaises(ValueError):
            data[0].target[:] = 0
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(data))[5].target, data[5].target)
        with self.assertRaisesRegex(lockstep.LockstepError, "has no split test; it has train"):
            lockstep.Dataset(self.folder / "data", "test")

    def test_labels_of_rows(self):
        folder = self.folder / "conversations"
        folder.mkdir()
        described = {"rows_per_block": 64, "splits": [{"name": "train", "rows": 2, "shards": [{"file": "t.h5"}]}]}
        (folder / "dataset.json").write_text(json.dumps(described))
        with h5py.File(folder / "t.h5", "w") as file:
            file["tokens"] = np.arange(10, 23, dtype=np.int32)
            file["offsets"] = np.array([0, 2, 8, 11, 13], np.uint64)
            file["spans"] = np.array([[2, 4], [7, 8], [3, 5]], np.int32)
            file["span_offsets"] = np.array([0, 2, 3], np.uint64)
        data = pickle.loads(pickle.dumps(lockstep.Dataset(folder)))
        source, target = data[0]
        self.assertEqual((source.tolist(), target.tolist()), ([10, 11], [12, 13, 14, 15, 16, 17]))
        self.assertEqual(data[0].labels.tolist(), [-100, -100, 12, 13, -100, -100, -100, 17])
        self.assertEqual(data[1].labels.tolist(), [-100, -100, -100, 21, 22])
        self.assertEqual(pickle.loads(pickle.dumps(data[0])).spans.tolist(), [[2, 4], [7, 8]])
        whole = lockstep.Dataset(self.folder / "data")[0]
        self.assertEqual(whole.labels.tolist(), [-100] * len(whole.source) + whole.target.tolist())

    def test_rows_of_python_are_those_of_prepare(self):
        rows = [("Good morrow.", "How now?"), {"prompt": "Two\nlines\t\u2028ü", "completion": "yes, so"},
                {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"},
                              {"role": "assistant", "content": "Ho"}]}]
        lockstep.write_dataset(rows, self.folder / "written")
        pairs = [("Good morrow.", "How now?"), ("Two\\nlines\\t\u2028ü", "yes, so"), ("Be brief.\\nHi", "Ho")]
        (self.folder / "pairs.txt").write_text("".join(
            f"text:{text}\tlabels:{label}\tepisode_done:True\n" for text, label in pairs))
        lockstep.run(["prepare", "--input", self.folder / "pairs.txt", "--dict-file", self.folder / "written",
                      "--out", self.folder / "pairs"])
        written, prepared = lockstep.Dataset(self.folder / "written"), lockstep.Dataset(self.folder / "pairs")
        self.assertEqual(len(written), 3)
        for one, other in zip(written, prepared):
            np.testing.assert_array_equal(one.source, other.source)
            np.testing.assert_array_equal(one.target, other.target)
        self.assertEqual(list(self.folder.glob(".rows-*")), [])
        for wrong, told in (([("a", "b"), {"texts": "c"}], "row 1: has neither messages nor prompt"),
                            ([{"text": "a", "labels": ["b"]}], "row 0: has text and labels, as ParlAI's"),
                            ([("a", "b"), {"text": "c"}], "row 1: documents .* and conversations"),
                            ({"train": [], "test": []}, "mapping of train, test; give one of these, as rows.'train'."),
                            ([], "there are no rows"), ("text", "the rows are one text")):
            with self.assertRaisesRegex(lockstep.LockstepError, told):
                lockstep.write_dataset(wrong, self.folder / "wrong")
        self.assertFalse((self.folder / "wrong").exists())

    def test_rows_of_tables(self):
        """A stand-in for pandas: columns of NumPy, and NaN or None where a row lacks something."""
        class Table:
            columns = ("id", "prompt", "completion", "messages")

            @staticmethod
            def itertuples(index, name):
                turns = [{"role": "user", "content": "Hi", "name": None}, {"role": "assistant", "content": "Ho"}]
                return iter([(np.int64(1), "a b", "c", float("nan")), (2, None, None, np.array(turns, object))])

        lockstep.write_dataset(Table(), self.folder / "table")
        lines = io.BytesIO()
        lockstep.rows.write_rows(Table(), lines)
        self.assertNotIn(b"name", lines.getvalue())
        lockstep.write_dataset([("a b", "c"), {"messages": [{"role": "user", "content": "Hi"},
                                                            {"role": "assistant", "content": "Ho"}]}], self.folder / "list")
        for one, other in zip(lockstep.Dataset(self.folder / "table"), lockstep.Dataset(self.folder / "list"), strict=True):
            np.testing.assert_array_equal(np.concatenate(one), np.concatenate(other))

    def test_rows_of_other_forms(self):
        rows = {"conversations": [{"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}], "id": {1}}],
                "instruction": [{"instruction": "Add", "input": "1 2", "output": "3"}],
                "prompt": [{"prompt": [{"role": "user", "content": "Hi"}], "completion": [{"role": "assistant", "content": "Ho"}]}],
                "text": [{"text": "A document."}, {"text": "Another one."}]}
        for name, made in rows.items():
            lockstep.write_dataset(made, self.folder / f"form-{name}")
            self.assertEqual(len(lockstep.Dataset(self.folder / f"form-{name}")), len(made), name)

    def test_tensors(self):
        try:
            import torch
        except ImportError:
            with self.assertRaisesRegex(lockstep.LockstepError, "needs PyTorch"):
                lockstep.TorchDataset  # noqa: B018
            return
        tensors, rows = lockstep.TorchDataset(self.folder / "data"), lockstep.Dataset(self.folder / "data")
        loader = torch.utils.data.DataLoader(tensors, batch_size=4, collate_fn=tensors.collate, num_workers=1)
        batch = next(iter(loader))
        for number in range(4):
            length = int(batch["attention_mask"][number].sum())
            self.assertEqual(batch["labels"][number, :length].tolist(), rows[number].labels.tolist())
            self.assertEqual(batch["input_ids"][number, :length].tolist(), np.concatenate(rows[number]).tolist())


if __name__ == "__main__":
    unittest.main()
