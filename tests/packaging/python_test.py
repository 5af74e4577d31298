#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package starts the program, stops it, tells its errors, and reads rows, metrics and weights as they are.

    python_test.py LOCKSTEP
"""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

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
        with open(self.model / "metrics.jsonl", "ab") as file:
            file.write('{"kind": "train", "a\u2028": "ü'.encode()[:-1])
        self.assertEqual(len(lockstep.read_metrics(self.model)), 3, "half a line is left out")
        with self.assertRaisesRegex(lockstep.LockstepError, "cannot be read"):
            lockstep.read_metrics(self.folder / "nowhere")
        with self.assertRaisesRegex(lockstep.LockstepError, "no lines of the kind 'trian'"):
            lockstep.read_metrics(self.model, "trian")

    def test_weights(self):
        weights = lockstep.load(self.model)
        table = weights["embeddings.weight"]
        self.assertEqual((table.dtype, table.shape[1]), (np.float32, 16))
        self.assertTrue(np.isfinite(table).all() and table.any())
        np.testing.assert_array_equal(lockstep.load(self.model, "step-00000003")["embeddings.weight"], table)
        np.testing.assert_array_equal(lockstep.load(self.model, "step-3")["embeddings.weight"], table)
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

    def test_shards_and_adapters(self):
        folder = self.folder / "shards"
        folder.mkdir()
        for name in ("a", "b"):
            header = b'{"%s":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}}' % name.encode()
            (folder / f"{name}.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + name.encode() * 2)
        (folder / "adapter_model.safetensors").write_bytes((folder / "a.safetensors").read_bytes())
        self.assertEqual(list(lockstep.load(folder)), ["a"])
        index = folder / "model.safetensors.index.json"
        index.write_text('{"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}')
        self.assertEqual({name: values.tolist() for name, values in lockstep.load(folder).items()},
                         {"a": [97, 97], "b": [98, 98]})
        for wrong, told in (('{"weight_map": {"a": 3}}', "is no index of weights"),
                            ('{"weight_map": {"a": "c.safetensors"}}', "c.safetensors: cannot be read")):
            index.write_text(wrong)
            with self.assertRaisesRegex(lockstep.LockstepError, told):
                lockstep.load(folder)

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

    def start(self, name, **options):
        """Starts a run that ends only when it is stopped, and waits for two steps."""
        run = lockstep.launch(self.folder / "data", self.folder / name, wait=False, output=None,
                              num_epochs=1_000_000, **{**SMALL, **options})
        while len(run.metrics()) < 2:
            self.assertTrue(run.running, run.lines)
            time.sleep(0.05)
        return run

    def has_checkpoint(self, name):
        return any(path.name.startswith("step-") for path in (self.folder / name / "checkpoints").glob("*"))

    def test_a_run_that_is_killed_is_told_as_such(self):
        run = self.start("killed")
        self.assertIn(run, lockstep.runs())
        os.kill(run.pid, signal.SIGKILL)
        with self.assertRaisesRegex(lockstep.LockstepError, "killed by signal 9 .SIGKILL."):
            run.wait()
        self.assertNotIn(run, lockstep.runs())

    def trackers(self, **options):
        """Trains with --wandb-log and a stand-in for wandb; returns what the run printed and what wandb was told."""
        fakes = self.folder / f"fakes-{len(options)}-{len(list(self.folder.iterdir()))}"
        fakes.mkdir()
        told = fakes / "told"
        (fakes / "wandb.py").write_text(
            "import os, signal\n"
            f"def tell(*words): print(*words, file=open({str(told)!r}, 'a'), flush=True)\n"
            "def Settings(**_): pass\n"
            "class Run:\n id, url, offline = 'a1', 'u', False\n config = type('C', (), {'update': lambda *a, **k: None})()\n"
            " def define_metric(self, *a, **k): pass\n"
            " def log(self, values):\n  tell('log', values['step'])\n"
            "  if os.environ.get('FAKE_KILL'): os.kill(os.getpid(), signal.SIGKILL)\n"
            " def finish(self): tell('finish')\n"
            "def init(id, **options): tell('init', id); return Run()\n")
        env = {"PYTHONPATH": f"{fakes}:{ROOT / 'packaging/python'}", **options.pop("env", {})}
        output = io.StringIO()
        lockstep.launch(self.folder / "data", fakes / "model", wandb_log=True, max_train_steps=3, output=output,
                        env=env, **{**SMALL, **options})
        return output.getvalue(), told.read_text().split("\n")[:-1] if told.exists() else []

    def test_a_tracker_gets_every_line_of_rank_0(self):
        for ranks in (1, 2):
            shown, told = self.trackers(ranks=ranks)
            self.assertEqual(told, ["init None", "log 1", "log 2", "log 3", "finish"], shown)
            self.assertIn("track: wandb has this run as a1 (u)", shown)

    def test_a_tracker_that_is_killed_ends_no_training(self):
        shown, told = self.trackers(env={"FAKE_KILL": "1"})
        self.assertIn("training ended", shown)
        self.assertEqual(told[:1], ["init None"])
        self.assertRegex(shown, r"warning: signal 9 has ended what sends metrics to trackers; this sends the rest: \S*python3? "
                                r"-m lockstep.track \S+/model --wandb --once\n")
        self.assertEqual(shown.count("warning"), 1, shown)

    def test_trackers_that_cannot_be_started_end_no_training(self):
        for python, line in (("/nowhere/python", "warning: /nowhere/python cannot be started to send metrics to trackers: No such"),
                             ("/bin/false", "warning: an error (code 1) has ended what sends metrics to trackers; this sends the rest: /bin/false"),
                             (sys.executable, "track: this Python has no package comet_ml")):
            shown, _ = self.trackers(env={"LOCKSTEP_PYTHON": python}, **({} if line[0] == "w" else {"comet": True}))
            self.assertIn("training ended", shown)
            self.assertEqual(shown.count(line), 1, shown)

    def test_a_failure_in_a_block_is_raised(self):
        with self.assertRaisesRegex(lockstep.LockstepError, "nothing ends this run"):
            with lockstep.launch(self.folder / "data", self.folder / "none", wait=False, output=None) as run:
                while run.running:
                    time.sleep(0.05)

    def test_a_run_ends_with_python(self):
        for number in (signal.SIGKILL, signal.SIGTERM, None):
            name = f"alone-{number}"
            script = ("import lockstep, sys, time\n"
                      f"run = lockstep.launch({str(self.folder / 'data')!r}, {str(self.folder / name)!r}, wait=False,\n"
                      f"                      output=None, num_epochs=1000000, **{SMALL!r})\n"
                      "while len(run.metrics()) < 2: time.sleep(0.05)\n"
                      "print(run.pid, flush=True)\n" + ("" if number is None else "time.sleep(600)\n"))
            with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "PYTHONPATH": str(ROOT / "packaging/python")}) as python:
                pid = int(python.stdout.readline())
                if number is not None:
                    python.send_signal(number)
                python.wait()
            while pathlib.Path(f"/proc/{pid}/stat").exists() and "Z" not in pathlib.Path(f"/proc/{pid}/stat").read_text():
                time.sleep(0.05)
            self.assertTrue(self.has_checkpoint(name), name)

    def test_an_interrupted_call_ends_its_program_in_order(self):
        class Interrupted(Exception):
            pass

        def interrupt(*_):
            raise Interrupted

        script = f"while ! [ -s {self.folder}/inter/metrics.jsonl ]; do sleep 0.05; done; kill -USR1 {os.getpid()}"
        signal.signal(signal.SIGUSR1, interrupt)
        with subprocess.Popen(["sh", "-c", script]), self.assertRaises(Interrupted):
            lockstep.run(["train", "--data", self.folder / "data", "-mf", self.folder / "inter", "--num-epochs", 1_000_000,
                          "--embedding-size", 16, "--n-layers", 1, "--ffn-size", 16, "--log-every-n-steps", 1])
        self.assertTrue(self.has_checkpoint("inter"))

    def test_output_goes_where_stdout_is(self):
        caught = io.StringIO()
        with contextlib.redirect_stdout(caught):
            lockstep.launch(self.folder / "data", self.folder / "shown", max_train_steps=1, **SMALL)
        self.assertIn("training ended", caught.getvalue())
        ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        for steps in (1, 2):  # A continued run names its folder.
            lockstep.launch(self.folder / "data", self.folder / "sh\u00f6wn", max_train_steps=steps, output=ascii_only,
                            **SMALL)
        self.assertIn(b"sh\\xf6wn", ascii_only.buffer.getvalue())
        with self.assertRaisesRegex(lockstep.LockstepError, "output is 'log.txt'"):
            lockstep.launch(self.folder / "data", self.folder / "none", output="log.txt", max_train_steps=1)
        self.assertFalse((self.folder / "none").exists())

    def test_values_without_a_form_are_refused(self):
        for wrong in (None, b"x", {1}, "a\0b"):
            with self.assertRaisesRegex(lockstep.LockstepError, "is no value of an option"):
                lockstep.run(["train", "--data", wrong])
        with self.assertRaisesRegex(lockstep.LockstepError, "give a list"):
            lockstep.run("train --help")
        with self.assertRaisesRegex(lockstep.LockstepError, "give a list"):
            lockstep.generate(self.model, "hello")

    def test_the_program_is_found_without_numpy_and_not_taken_for_the_command(self):
        own = self.folder / "bin"
        own.mkdir()
        (own / "lockstep").write_text("#!/bin/sh\n# from lockstep.command import lockstep\n")
        (own / "lockstep").chmod(0o755)
        environment = {key: value for key, value in os.environ.items() if key != "LOCKSTEP_PROGRAM"}
        environment.update(PYTHONPATH=str(ROOT / "packaging/python"), PATH=f"{own}:/usr/bin:/bin")
        script = "import sys; sys.modules['numpy'] = None; import lockstep; lockstep.run(['--version'])"
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
        self.assertIn("lockstep on PATH is not found", done.stderr)
        environment["PATH"] += ":" + str(pathlib.Path(os.environ["LOCKSTEP_PROGRAM"]).parent)
        subprocess.run([sys.executable, "-c", script], env=environment, check=True)

    def test_a_bar_shows_steps_and_lets_other_lines_through(self):
        class Bar:
            made = []

            def __init__(self, total, initial, unit):
                self.kept, self.n, self.seen = (total, initial, unit), 0, []
                self.made.append(self)

            def refresh(self):
                self.seen.append(self.n)

            def set_postfix(self, loss):
                self.loss = loss

            def close(self):
                self.seen.append("closed")

            @staticmethod
            def write(line):
                lines.append(line)

        lines = []
        with unittest.mock.patch("lockstep.training.bar_class", lambda: Bar):
            lockstep.launch(self.folder / "data", self.folder / "bar", output="progress", max_train_steps=3, **SMALL)
            lockstep.launch(self.folder / "data", self.folder / "bar-of-epochs", output="progress", num_epochs=1, **SMALL)
        steps, epochs = Bar.made
        self.assertEqual((steps.kept, steps.seen), ((3, 1, "step"), [1, 2, 3, "closed"]))
        self.assertEqual((epochs.kept[0], epochs.kept[2], epochs.seen[-2:]), (1, "epoch", [1, "closed"]))
        self.assertTrue(any("training ended" in line for line in lines), lines)

    def test_curves(self):
        class Axes:
            def __init__(self):
                self.curves = {}

            def plot(self, xs, ys, label, **_):
                self.curves[label] = (xs, len(ys))

            def set_xlabel(self, text):
                self.x = text

            def set_ylabel(self, text):
                self.y = text

            def legend(self):
                pass

        axes = lockstep.plot(self.model, axes=Axes())
        self.assertEqual((axes.curves, axes.x, axes.y), ({"model train": ([1, 2, 3], 3)}, "step", "loss"))
        with self.assertRaisesRegex(lockstep.LockstepError, "no line has lost and step; metrics.jsonl has .*gnorm, .*loss"):
            lockstep.plot(self.model, metric="lost", axes=Axes())
        with unittest.mock.patch.dict(sys.modules, {"matplotlib": None}):
            with self.assertRaisesRegex(lockstep.LockstepError, "needs matplotlib: pip install matplotlib"):
                lockstep.plot(self.model)

    def test_the_notebook(self):
        """Its code runs here cell by cell, and in a kernel where Python has nbclient."""
        book = json.loads((ROOT / "examples/notebook.ipynb").read_text())
        has_curves = importlib.util.find_spec("matplotlib") is not None
        cells = [cell for cell in book["cells"] if has_curves or "matplotlib" not in cell["metadata"].get("tags", [])]
        sources = {"".join(cell["source"]): cell for cell in cells if cell["cell_type"] == "code"}
        small = f"source, folder, epochs = pathlib.Path({str(self.folder)!r}), pathlib.Path({str(self.folder / 'book')!r}), 0.2"
        (self.folder / "valid.txt").write_text((ROOT / "examples/shakespeare/valid.txt").read_text()[:2000])
        shown = io.StringIO()
        if importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"):
            import nbclient
            import nbformat
            next(cell for cell in cells if cell["metadata"].get("tags") == ["parameters"])["source"] += ["\n", small]
            notebook = nbformat.reads(json.dumps({**book, "cells": cells}), as_version=4)
            with unittest.mock.patch.dict(os.environ, {"PYTHONPATH": str(ROOT / "packaging/python")}):
                nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
            shown.write("".join(out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", [])))
        else:
            print("test_the_notebook: without nbclient and ipykernel its cells run in this process")
            names = {}
            with contextlib.redirect_stdout(shown):
                for source, cell in sources.items():
                    exec(source, names)  # noqa: S102
                    if cell["metadata"].get("tags") == ["parameters"]:
                        exec(small, names)  # noqa: S102
        self.assertRegex(shown.getvalue(), r"perplexity [0-9.]+ after \d+ steps\nGood morrow, my lord\.\n    ")

    def test_replies(self):
        replies = lockstep.generate(self.model, ["hello", "two\nlines", "ümläut\u2028\u0085"], max_length=3, threads=1)
        self.assertEqual(len(replies), 3)
        with self.assertRaisesRegex(lockstep.LockstepError, "nowhere"):
            lockstep.generate(self.folder / "nowhere", ["hello"])


if __name__ == "__main__":
    unittest.main()
