#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package starts the program, stops it, tells its errors, and reads rows, metrics and weights as they are.

    python_test.py LOCKSTEP
"""
import io
import os
import pathlib
import sys
import tempfile
import time
import unittest

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging/python"))
os.environ["LOCKSTEP_PROGRAM"] = str(pathlib.Path(sys.argv.pop(1)).resolve())

import lockstep  # noqa: E402

SMALL = {"embedding_size": 16, "n_layers": 1, "ffn_size": 16, "threads": 1, "batchsize": 4, "log_every_n_steps": 1}


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        lines = (ROOT / "examples/shakespeare/train.txt").read_text().splitlines(keepends=True)[:400]
        (cls.folder / "train.txt").write_text("".join(lines))
        lockstep.run(["prepare", "--input", cls.folder / "train.txt", "--out", cls.folder / "data", "--shards", 3])
        cls.model = cls.folder / "model"
        cls.output = io.StringIO()
        lockstep.launch(cls.folder / "data", cls.model, ranks=2, max_train_steps=3, output=cls.output, **SMALL)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_output_is_the_programs(self):
        self.assertIn("training ended", self.output.getvalue())

    def test_metrics(self):
        lines = lockstep.read_metrics(self.model)
        self.assertEqual([line["step"] for line in lines], [1, 2, 3])
        self.assertGreater(len(lockstep.read_metrics(self.model, "")), 0)
        with open(self.model / "metrics.jsonl", "a") as file:
            file.write('{"kind": "train", "st')
        self.assertEqual(len(lockstep.read_metrics(self.model)), 3, "half a line is left out")
        with self.assertRaisesRegex(lockstep.LockstepError, "cannot be read"):
            lockstep.read_metrics(self.folder / "nowhere")

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
        with self.assertRaises(IndexError):
            data[len(data)]
        with self.assertRaisesRegex(lockstep.LockstepError, "has no split test; it has train"):
            lockstep.Dataset(self.folder / "data", "test")

    def test_weights(self):
        weights = lockstep.load(self.model)
        table = weights["embeddings.weight"]
        self.assertEqual((table.dtype, table.shape[1]), (np.float32, 16))
        self.assertTrue(np.isfinite(table).all() and table.any())
        np.testing.assert_array_equal(lockstep.load(self.model, "step-00000003")["embeddings.weight"], table)
        broken = self.folder / "broken"
        broken.mkdir()
        (broken / "model.safetensors").write_bytes((self.model / "model.safetensors").read_bytes()[:300])
        with self.assertRaisesRegex(lockstep.LockstepError, "is no whole safetensors file"):
            lockstep.load(broken)

    def test_bfloat16(self):
        folder = self.folder / "bf16"
        folder.mkdir()
        header = b'{"a":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]}}'
        values = np.array([1.5, -2.0], np.float32).view(np.uint32) >> 16
        (folder / "model.safetensors").write_bytes(
            len(header).to_bytes(8, "little") + header + values.astype("<u2").tobytes())
        np.testing.assert_array_equal(lockstep.load(folder)["a"], [[1.5], [-2.0]])

    def test_errors_are_the_programs(self):
        with self.assertRaisesRegex(lockstep.LockstepError, "'x' is not a whole number") as caught:
            lockstep.run(["train", "--data", self.folder / "data", "-mf", self.folder / "none", "--n-layers", "x"])
        self.assertEqual(caught.exception.code, 2)
        with self.assertRaisesRegex(lockstep.LockstepError, "nothing ends this run"):
            lockstep.launch(self.folder / "data", self.folder / "none", output=None)
        self.assertFalse((self.folder / "none").exists())

    def test_a_run_is_stopped_and_goes_on(self):
        model = self.folder / "stopped"
        with lockstep.launch(self.folder / "data", model, wait=False, output=None, num_epochs=1_000_000, **SMALL) as run:
            while len(run.metrics()) < 2:
                self.assertTrue(run.running, run.lines)
                time.sleep(0.05)
            with self.assertRaises(TimeoutError):
                run.wait(0.01)
        self.assertFalse(run.running)
        step = int(sorted(path.name for path in (model / "checkpoints").iterdir())[-1][len("step-"):])
        output = io.StringIO()
        lockstep.launch(self.folder / "data", model, output=output, max_train_steps=step + 1,
                        num_epochs=1_000_000, **SMALL)
        self.assertIn(f"continuing after step {step}", output.getvalue())

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
        with self.assertRaisesRegex(lockstep.LockstepError, "row 1: has neither messages nor prompt"):
            lockstep.write_dataset([("a", "b"), {"text": "c"}], self.folder / "wrong")
        self.assertFalse((self.folder / "wrong").exists())

    def test_replies(self):
        replies = lockstep.generate(self.model, ["hello", "two\nlines", "ümläut"], max_length=3, threads=1)
        self.assertEqual(len(replies), 3)
        with self.assertRaisesRegex(lockstep.LockstepError, "nowhere"):
            lockstep.generate(self.folder / "nowhere", ["hello"])


if __name__ == "__main__":
    unittest.main()
