#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs bench_train_step and torch_peer.py in turns and prints how they compare; see compare.sh.

Every round runs every case once, so that a machine which is slower for a while is slower for all cases. The
figures are medians over the rounds. --out FILE allows to make a long comparison in parts, and --rounds 0 prints
the results in the file.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTHS = ["--lengths", os.path.join(HERE, "shakespeare-lengths.txt")]

# key: name; value: (goal against PyTorch, goal of the share of the ceiling, arguments)
SHAPES = {
    "seq2seq-fp32": (1.4, 0.88, ["--model", "seq2seq", "--dtype", "fp32"]),
    "seq2seq-bf16": (1.65, 0.82, ["--model", "seq2seq", "--dtype", "bf16"]),
    "gpt2-fp32": (1.33, 0.95, ["--model", "gpt2", "--dtype", "fp32"]),
    "gpt2-bf16": (1.6, 0.88, ["--model", "gpt2", "--dtype", "bf16"]),
}

# stage of ZeRO: (its peer, goal against stage 0)
STAGES = {1: ("ZeroRedundancyOptimizer", 1.0), 2: ("FSDP2", 0.95), 3: ("FSDP2", 0.85)}


def cases(ours, python, torchrun):
    """Returns every command by its name: 'lockstep NAME' or 'torch NAME'."""
    peer = [python, os.path.join(HERE, "torch_peer.py")]
    ddp = torchrun + [os.path.join(HERE, "torch_peer.py")]
    all_cases = {}
    for name, (_, _, arguments) in SHAPES.items():
        all_cases["lockstep " + name] = [ours] + arguments
        all_cases["torch " + name] = peer + arguments
        all_cases["torch-compiled " + name] = peer + arguments + ["--compile"]
        if name.endswith("bf16"):
            all_cases["lockstep " + name + "-2-ranks"] = [ours] + arguments + ["--ranks", "2"]
            all_cases["torch " + name + "-2-ranks"] = ddp + arguments
    for stage in STAGES:
        shared = SHAPES["gpt2-bf16"][2] + ["--zero", str(stage)]
        all_cases[f"lockstep gpt2-bf16-zero-{stage}-2-ranks"] = [ours] + shared + ["--ranks", "2"]
        all_cases[f"torch gpt2-bf16-zero-{stage}-2-ranks"] = ddp + shared
    bf16 = SHAPES["seq2seq-bf16"][2]
    all_cases["lockstep seq2seq-bf16-uneven"] = [ours] + bf16 + LENGTHS
    all_cases["torch seq2seq-bf16-uneven"] = peer + bf16 + LENGTHS
    all_cases["lockstep seq2seq-bf16-dropout"] = [ours] + bf16 + ["--dropout", "0.1"]
    return all_cases


def run(command, threads, steps, warmup):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    command = command + ["--steps", str(steps), "--warmup", str(warmup)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    if result.returncode != 0 or not lines:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr[-2000:]}")
    return json.loads(lines[-1])


def measure(commands, options, cores, results):
    """Adds the results of every round. They are written after each run, so that they survive a stop."""
    for number in range(options.rounds):
        for name, command in commands.items():
            threads = max(1, cores // 2) if name.endswith("-2-ranks") else cores
            result = run(command, threads, options.steps, options.warmup)
            results.setdefault(name, []).append(result)
            if options.out:
                with open(options.out, "w") as file:
                    json.dump(results, file, indent=1)
            print(f"round {number + 1}: {name}: {result['tokens_per_s']} tokens/s", file=sys.stderr)


class Table:
    def __init__(self, results):
        self.results = results

    def median(self, name, key):
        rows = self.results.get(name)
        return statistics.median(row[key] for row in rows) if rows else None

    def ratio(self, name, others):
        """Returns the median rate of this case divided by that of the fastest of the others."""
        rate = self.median(name, "tokens_per_s")
        peers = [self.median(other, "tokens_per_s") for other in others if self.results.get(other)]
        return rate / max(peers) if rate and peers else None

    def peer_peak(self, name):
        peers = [peer for peer in ("torch " + name, "torch-compiled " + name) if self.results.get(peer)]
        fastest = max(peers, key=lambda peer: self.median(peer, "tokens_per_s"), default=None)
        return self.median(fastest, "step_peak_bytes") if fastest else None

    def share(self, name):
        rows = self.results.get(name)
        return statistics.median(row["gflops"] / row["ceiling_gflops"] for row in rows) if rows else None

    def line(self, what, value, goal):
        if value is not None:
            print(f"| {what} | {value:.2f} | {goal} |")

    def show(self):
        print("| | measured | goal |\n| --- | --- | --- |")
        for name, (goal, share, _) in SHAPES.items():
            peers = ["torch " + name, "torch-compiled " + name]
            self.line(f"{name}: x the best PyTorch", self.ratio("lockstep " + name, peers), goal)
            self.line(f"{name}: share of the ceiling", self.share("lockstep " + name), share)
            ranks = name + "-2-ranks"
            self.line(f"{ranks}: x DDP with gloo", self.ratio("lockstep " + ranks, ["torch " + ranks]), 1.6)
        base = "lockstep seq2seq-bf16"
        self.line("seq2seq-bf16: 2 ranks x half the cores / 1 rank", self.ratio(base + "-2-ranks", [base]), "1.0")
        self.line("seq2seq-bf16: uneven rows / full batches", self.ratio(base + "-uneven", [base]), 0.9)
        self.line("seq2seq-bf16: uneven rows x PyTorch padding", self.ratio(base + "-uneven", ["torch seq2seq-bf16-uneven"]), 3)
        self.line("seq2seq-bf16: dropout 0.1 / none", self.ratio(base + "-dropout", [base]), 0.95)
        for stage, (peer, goal) in STAGES.items():
            shared = f"gpt2-bf16-zero-{stage}-2-ranks"
            self.line(f"{shared}: x {peer} with gloo", self.ratio("lockstep " + shared, ["torch " + shared]), 1.5)
            whole = self.ratio("lockstep " + shared, ["lockstep gpt2-bf16-2-ranks"])
            self.line(f"{shared}: / stage 0", whole, goal)
            ours, theirs = (self.median(f"{who} {shared}", "step_peak_bytes") for who in ("lockstep", "torch"))
            self.line(f"{shared}: peak memory / {peer}'s", ours / theirs if ours and theirs else None, 1)
        for name in SHAPES:
            ours, peer = self.median("lockstep " + name, "step_peak_bytes"), self.peer_peak(name)
            self.line(f"{name}: peak memory / the best PyTorch's", ours / peer if ours and peer else None, 0.6)
        self.show_rates()

    def show_rates(self):
        print("\n| case | tokens/s | ms a step | GFLOP/s | ceiling | peak MB |\n| --- | --- | --- | --- | --- | --- |")
        for name in self.results:
            if not self.results[name]:
                continue
            flops, ceiling = ("-", "-") if name.startswith("torch") else (
                f"{self.median(name, key):.0f}" for key in ("gflops", "ceiling_gflops"))
            print(f"| {name} | {self.median(name, 'tokens_per_s'):.0f} | {self.median(name, 'step_ms'):.0f} "
                  f"| {flops} | {ceiling} | {self.median(name, 'step_peak_bytes') / 1e6:.0f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--only", help="comma-separated parts of names, as seq2seq-bf16 or 'torch gpt2'")
    parser.add_argument("--skip-compiled", action="store_true")
    parser.add_argument("--out", help="all results as JSON; what the file holds already counts as well")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    commands = cases(os.path.abspath(options.ours), sys.executable, torchrun)
    if options.skip_compiled:
        commands = {n: c for n, c in commands.items() if "compiled" not in n}
    if options.only:
        commands = {n: c for n, c in commands.items() if any(o in n for o in options.only.split(","))}
    results = {}
    if options.out and os.path.exists(options.out):
        with open(options.out) as file:
            results = json.load(file)
    measure(commands, options, cores, results)
    Table(results).show()


if __name__ == "__main__":
    main()
