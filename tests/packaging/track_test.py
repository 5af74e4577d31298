#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lockstep.track gives every line of metrics.jsonl to a tracker once, whatever happens to the run, to the tracker and to itself."""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "packaging/python"
sys.path.insert(0, str(PACKAGE))

from lockstep import track  # noqa: E402


def line(step, kind="train", **values):
    return json.dumps({"kind": kind, "step": step, "time": 1000.0 + step, "loss": 1.0 / (step + 1), **values}).encode()


class Fake:
    """A tracker that keeps what it gets, and fails as often as it is told."""

    place = "here"

    def __init__(self):
        self.steps, self.values, self.runs, self.told, self.failures, self.ended = [], [], [], {}, 0, 0
        self.on_write = lambda: None

    def start(self, run):
        self.runs.append(run)
        return run or "new"

    def options(self, options):
        self.told.update(options)

    def write(self, lines):
        if self.failures > 0:
            self.failures -= 1
            raise SystemExit("no\nnetwork")
        self.steps += [one.step for one in lines]
        self.values += [one.values for one in lines]
        self.on_write()

    def finish(self):
        self.ended += 1


class Track(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.path = self.folder / "metrics.jsonl"
        self.fake = Fake()

    def append(self, *lines, end=b"\n"):
        with open(self.path, "ab") as file:
            file.write(b"\n".join(lines) + end)

    def finish_run(self):
        (self.folder / "report.json").write_text('{"opt": {"batchsize": "8"}, "finished_step": 1}')

    def sender(self):
        return track.Sender("fake", self.fake, self.folder)

    def follow(self, writer=None, once=False, grace_s=0.0, stop=None):
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            all_sent = track.follow(self.folder, [self.sender()], writer or track.Writer(self.path),
                                    stop or threading.Event(), once, grace_s, poll_s=0.01)
        return all_sent, told.getvalue()

    def test_lines_are_numbers_by_their_names(self):
        self.append(line(1, ppl=None, best=True), line(1, "valid"), b"no line", line(2, "final", split="test"))
        (self.folder / "config.json").write_text('{"n_heads": 2, "defaults": {"x": "y"}}')
        self.finish_run()
        self.assertEqual(self.follow(), (True, "track: fake has this run as new (here)\n"))
        self.assertEqual(self.fake.values, [{"train/loss": 0.5}, {"valid/loss": 0.5}, {"final_test/loss": 1 / 3}])
        self.assertEqual((self.fake.told, self.fake.ended), ({"n_heads": "2", "batchsize": "8"}, 1))

    def test_it_begins_before_the_run_and_ends_with_the_process_that_writes(self):
        script = "import sys, time; f = open(sys.argv[1], 'ab', 0); f.write(sys.argv[2].encode() + b'\\n'); sys.stdin.read()"
        reader = ["sh", "-c", 'exec 3< "$0"; echo; read -r _', self.path]
        with subprocess.Popen([sys.executable, "-c", script, self.path, line(1)], stdin=subprocess.PIPE) as writer, \
                contextlib.ExitStack() as readers:
            def on_write():
                """Another process reads the file, as tail does, when the one that writes ends."""
                process = readers.enter_context(subprocess.Popen(reader, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
                process.stdout.readline()
                writer.stdin.close()
                self.process = process

            self.fake.on_write = on_write
            self.assertTrue(self.follow()[0])
            self.process.stdin.close()
        self.assertEqual(self.fake.steps, [1])

    def test_it_ends_with_its_standard_input(self):
        """Also where the run has not written a line, and with what was written last."""
        for lines in ([], [line(1)]):
            with subprocess.Popen([sys.executable, "-m", "lockstep.track", self.folder, "--wandb", "--until-eof"], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment()) as process:
                if lines:
                    self.append(*lines)
                process.stdin.close()
                shown = process.stdout.read()
                self.assertEqual((process.wait(), "log" in shown), (0, bool(lines)), shown)

    def test_a_new_start_continues_the_same_run_behind_the_last_line(self):
        self.append(line(1), line(2))
        self.follow(once=True)
        self.append(line(3), line(4)[:20], end=b"")
        self.follow(once=True)
        self.append(line(4)[20:])
        self.follow(once=True)
        self.follow(once=True)
        self.assertEqual((self.fake.steps, self.fake.runs), ([1, 2, 3, 4], [None, "new", "new"]))

    def test_a_run_that_goes_on_from_a_checkpoint(self):
        """The program cuts the file to the checkpoint's step, or replaces it; new lines are newer."""
        sender = self.sender()
        self.append(*(line(step) for step in range(1, 6)))
        sender.send()
        again = [line(step, time=2000.0 + step) for step in (3, 4, 5, 6)]
        for replace in (False, True):
            self.fake.steps.clear()
            kept = self.path.read_bytes().split(b"\n")[:2]
            if replace:
                again = [one.replace(b"200", b"300") for one in again]
                self.path.unlink()
                self.append(*kept, *again)
            else:
                os.truncate(self.path, sum(len(one) + 1 for one in kept))
                self.append(*again)
            sender.send()
            self.assertEqual(self.fake.steps, [3, 4, 5, 6])
            sender.send()
            self.assertEqual(self.fake.steps, [3, 4, 5, 6])

    def test_a_tracker_that_fails_is_told_once_and_gets_all_later(self):
        self.append(line(1), line(2))
        self.fake.failures = 3
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            sender = self.sender()
            for _ in range(3):
                sender.send()
            self.append(line(3))
            self.assertGreater(sender.retry_in_s, 1.0)
            self.assertTrue(sender.finish())
        self.assertEqual(told.getvalue(), "track: fake has this run as new (here)\n"
                                          "track: fake: no network; training goes on, and this is tried again\n")
        self.assertEqual((self.fake.steps, self.fake.runs[1:]), ([1, 2, 3], ["new", "new", "new"]))

    def test_what_was_not_sent_is_told_at_the_end(self):
        self.append(line(1), line(2))
        self.fake.failures = 100
        sent, told = self.follow(once=True)
        self.assertFalse(sent)
        self.assertIn("fake: 2 lines were not sent; the same command sends them later", told)
        self.fake.failures = 0
        self.assertTrue(self.follow(once=True)[0])
        self.assertEqual(self.fake.steps, [1, 2])

    def test_a_state_that_is_damaged_is_refused(self):
        (self.folder / "tracking-fake.json").write_text("{")
        with self.assertRaisesRegex(track.LockstepError, "tracking-fake.json: cannot be read .* remove it"):
            self.sender()

    def environment(self):
        """With packages of trackers that write down how they are called."""
        fakes = self.folder / "fakes"
        fakes.mkdir(exist_ok=True)
        (fakes / "wandb.py").write_text(
            "def Settings(**_): pass\n"
            "class Run:\n id, url, offline = 'a1', 'u', False\n config = type('C', (), {'update': lambda *a, **k: None})()\n"
            " def define_metric(self, *a, **k): print('define', *a, k)\n"
            " def log(self, values): print('log', values)\n def finish(self): print('finish')\n"
            "def init(id, **options): print('init', id, options['resume'], options['project']); return Run()\n")
        return {**os.environ, "PYTHONPATH": f"{fakes}:{PACKAGE}"}

    def command(self, *words):
        return subprocess.run([sys.executable, "-m", "lockstep.track", self.folder, *words], text=True, check=False,
                              capture_output=True, env=self.environment())

    def test_the_command(self):
        self.append(line(1))
        done = self.command("--wandb", "--once", "--project", "p")
        self.assertEqual((done.returncode, done.stderr), (0, "track: wandb has this run as a1 (u)\n"))
        self.assertEqual(done.stdout.split("\n"), ["init None allow p", "define * {'step_metric': 'step'}",
                                                   "log {'step': 1, 'train/loss': 0.5}", "finish", ""])
        self.append(line(2))
        self.assertIn("init a1 allow", self.command("--wandb", "--once").stdout)

    def test_mlflow_and_comet_by_the_calls_of_their_packages(self):
        lines = [track.Line(3, 10.5, {"train/loss": 0.5})]
        mlflow, comet = unittest.mock.MagicMock(), unittest.mock.MagicMock()
        with unittest.mock.patch.dict(sys.modules, {"mlflow": mlflow, "comet_ml": comet}):
            client = mlflow.MlflowClient.return_value
            client.create_run.return_value.info.run_id = "m1"
            comet.start.return_value.get_key.return_value = "c1"
            for name, run in (("mlflow", "m1"), ("comet", "c1")):
                tracker = track.TRACKERS[name](self.folder, "project")
                self.assertEqual((tracker.start(None), tracker.start(run)), (run, run))
                tracker.options({"n_heads": "2"})
                tracker.write(lines)
                tracker.finish()
        client.update_run.assert_called_once_with("m1", status="RUNNING")
        mlflow.entities.Metric.assert_called_once_with("train/loss", 0.5, 10500, 3)
        client.set_terminated.assert_called_once_with("m1")
        self.assertEqual([call.kwargs["mode"] for call in comet.start.call_args_list], ["create", "get_or_create"])
        comet.start.return_value.log_metrics.assert_called_once_with({"train/loss": 0.5}, step=3)
        comet.start.return_value.end.assert_called_once_with()

    def test_refusals_of_the_command(self):
        done = self.command("--once")
        self.assertEqual((done.returncode, done.stderr), (2, "track: name a tracker: --wandb, --mlflow or --comet\n"))
        done = self.command("--comet", "--once")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Atrack: this Python has no package comet_ml \(.*\): pip install comet-ml\n\Z")


if __name__ == "__main__":
    unittest.main()
