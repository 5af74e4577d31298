#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the same model on the same rows with ParlAI and with Lockstep, and compares validation perplexity.

    compare_parlai_training.py WORK --lockstep build/bin/lockstep --data examples/shakespeare

Trains one epoch with the same options and several seeds. Prints a row per seed, and the means. The exit code is 1
if Lockstep's mean is higher by more than two standard errors. The script needs a Python with ParlAI 1.7.2.
"""

import json
import pathlib
import shutil
import statistics
import sys

import parlai_peer
from compare_parlai import evaluate, lockstep, parsed, parser_of, prepare_for_both

SHARED = (
    "--n-layers 2 --n-heads 4 --embedding-size 64 --ffn-size 128 --dropout 0.1 --text-truncate 128 --label-truncate 64 "
    "--optimizer adam -lr 3e-3 --lr-scheduler invsqrt --warmup-updates 50 --invsqrt-lr-decay-gamma 50 -clip 0.1 "
    "-bs 16 --num-epochs 1"
).split()


def validation_of(model):
    """Returns what ParlAI's last validation of a model found."""
    return json.loads(pathlib.Path(f"{model}.trainstats").read_text())["final_valid_report"]


def theirs(work, seed):
    model = work / f"parlai-{seed}"
    parlai_peer.train(model, work / "text", work / "dict", [*SHARED, "--seed", seed])
    return validation_of(model)["ppl"]


def ours(work, program, seed):
    model = work / f"lockstep-{seed}"
    shutil.rmtree(model, ignore_errors=True)
    lockstep(program, "train", "--data", work / "data", "-mf", model, *SHARED, "--amsgrad", "true", "--precision", "fp32",
             "--threads", 1, "--seed", seed)
    return evaluate(program, work / "data", model)["ppl"]


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", default=5, type=int, help="at least 2, for the means have deviations")
    arguments = parsed(parser)
    if arguments.seeds < 2:
        parser.error("--seeds: at least 2, because the means are compared by their deviations")
    work = arguments.work
    prepare_for_both(arguments)
    pairs = []
    print("| seed | ParlAI | Lockstep |\n| --- | --- | --- |")
    for seed in range(1, arguments.seeds + 1):
        pairs.append((theirs(work, seed), ours(work, arguments.lockstep, seed)))
        print(f"| {seed} | {pairs[-1][0]:.1f} | {pairs[-1][1]:.1f} |", flush=True)
    means = [statistics.mean(side) for side in zip(*pairs)]
    spreads = [statistics.stdev(side) for side in zip(*pairs)]
    print("| mean ± deviation | " + " | ".join(f"{m:.1f} ± {s:.1f}" for m, s in zip(means, spreads)) + " |")
    error = (sum(spread**2 for spread in spreads) / len(pairs)) ** 0.5
    sys.exit(0 if means[1] <= means[0] + 2 * error else 1)


if __name__ == "__main__":
    main()
