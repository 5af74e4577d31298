# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of a row and reads the JSON line that each prints last."""
import argparse
import functools
import json
import os
import shutil
import signal
import subprocess
import tempfile

from .busy_loops import busy_loops
from .probes import BARRIERS, OWN_PRODUCTS, PERF, PRODUCTS, share_of, share_of_functions
from .rows import BENCH


LONGEST_RUN_S = 3600  # transformers needs minutes for a batch of replies of GPT-2


def last_figures(output):
    """Returns the last line that is a JSON object."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise ValueError("the program printed no line of figures")


def reply_options(arguments):
    parser = argparse.ArgumentParser()
    for name in ("--kind", "--beam-size", "--batch", "--tokens", "--rounds"):
        parser.add_argument(name, required=True)
    return parser.parse_args(arguments)


@functools.cache
def can_import(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def started(command, environment):
    """Starts a program, and returns it with the signals that came meanwhile: whoever is stopped there does not know it yet and
    could not end it."""
    signals = []
    handlers = {number: signal.signal(number, lambda number, frame: signals.append(number)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        program = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return program, signals


class Programs:
    """Knows where the programs are and how each is called."""

    def __init__(self, folder, python, models, cores, steps, warmup):
        self.folder, self.python, self.models, self.cores = folder, python, models, cores
        self.steps, self.warmup = steps, warmup

    def binary(self, name):
        return os.path.join(self.folder, name)

    def lacking(self, contestant):
        """Returns why the program cannot run here, or None."""
        if contestant.probe == "perf" and not shutil.which("perf"):
            return "perf is not installed"
        built = {"step": "bench_train_step", "generate": "bench_generate"}.get(contestant.program)
        if built and not os.path.exists(self.binary(built)):
            return f"{self.binary(built)} is not built"
        module = {"torch": "torch", "transformers": "transformers"}.get(contestant.program)
        if module and not can_import(self.python, module):
            return f"{self.python} has no {module}"
        return None

    def command(self, contestant):
        arguments = list(contestant.arguments)
        timed = ["--steps", str(contestant.steps or self.steps), "--warmup", str(self.warmup)]
        if contestant.program == "step":
            ranks = ["--ranks", str(contestant.ranks)] if contestant.ranks > 1 else []
            return [self.binary("bench_train_step"), *arguments, *ranks, *timed]
        if contestant.program == "torch":
            launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(contestant.ranks)] if contestant.ranks > 1 else []
            return [self.python, *launcher, os.path.join(BENCH, "torch_peer.py"), *arguments, *timed]
        o = reply_options(arguments)
        model, contexts = self.models.model(o.kind), self.models.contexts(o.kind)
        if contestant.program == "generate":
            return [self.binary("bench_generate"), "-mf", model, "--input", self.models.prompts(), "--inference", "beam",
                    "--beam-size", o.beam_size, "-bs", o.batch, "--tokens", o.tokens, "--rounds", o.rounds, "--precision", "fp32",
                    "--threads", str(self.cores), "--contexts-out", contexts]
        return [self.python, os.path.join(BENCH, "torch_generate.py"), "--model", model, "--contexts", contexts,
                "--beam-size", o.beam_size, "--batch", o.batch, "--tokens", o.tokens, "--rounds", o.rounds]

    def environment(self, contestant, held):
        threads = max(1, self.cores // contestant.ranks)
        return {**os.environ, "OMP_NUM_THREADS": str(threads), **held, **dict(contestant.environment)}

    def output(self, command, environment):
        program, signals = started(command, environment)
        try:
            for number in signals:
                signal.raise_signal(number)
            out, err = program.communicate(timeout=LONGEST_RUN_S)
        except BaseException as end:  # somebody may have stopped the comparison
            os.killpg(program.pid, signal.SIGKILL)  # the ranks that it has started, too
            program.communicate()
            if not isinstance(end, subprocess.TimeoutExpired):
                raise
            raise RuntimeError(f"{' '.join(command)} took more than {LONGEST_RUN_S} s") from None
        if program.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed:\n{err[-2000:]}")
        return out

    def run(self, contestant, held):
        """Returns the figures of one run. `held` are the environment variables of the row."""
        with busy_loops(contestant.busy_loops):
            return self.figures(contestant, held)

    def figures(self, contestant, held):
        command, environment = self.command(contestant), self.environment(contestant, held)
        if contestant.probe == "perf":
            return self.run_under_perf([*command, "--no-ceiling"], {**environment, "OMP_WAIT_POLICY": "active"})
        return last_figures(self.output(command, environment))

    def run_under_perf(self, command, environment):
        with tempfile.TemporaryDirectory() as folder:
            samples = os.path.join(folder, "perf.data")
            figures = last_figures(self.output([*PERF, samples, *command], environment))
            files, functions = (self.output(["perf", "report", "--stdio", "--sort", by, "-i", samples], environment)
                                for by in ("dso", "symbol"))
        products = share_of(PRODUCTS, files) + share_of_functions(OWN_PRODUCTS, functions)
        return {**figures, "products": products, "barriers": share_of(BARRIERS, files)}

    def ceiling(self, dtype, held):
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.cores), **held}
        return last_figures(self.output([self.binary("bench_train_step"), "--ceiling", "--dtype", dtype], environment))["ceiling_gflops"]
