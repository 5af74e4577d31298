#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a whole command of ParlAI and of Lockstep in turns: one epoch of the same model over the same rows, and a validation.

    compare_parlai_speed.py WORK --lockstep build/bin/lockstep --data examples/shakespeare

ParlAI takes the options of its fastest rung on a CPU: dynamic batching, and no replies in validation. Its batches have padding,
so that ours of the same size have more rows and an epoch fewer updates; ours are therefore smaller, which makes about as many
updates. Prints a line for each command, and the medians of the ratios. Both programs use all cores. The script needs a Python
with ParlAI 1.7.2.
"""
import shutil
import statistics
import subprocess
import sys
import time

import parlai_peer
from compare_parlai import evaluate, parsed, parser_of, prepare_for_both
from compare_parlai_training import validation_of

MODEL = (
    "-m transformer/generator --n-layers 8 --n-heads 2 --embedding-size 256 --ffn-size 1024 --optimizer adam -lr 1e-3 "
    "--lr-scheduler fixed --num-epochs 1 --text-truncate 128 --label-truncate 128 --seed 1 --skip-generation true -dynb full"
).split()
THEIR_BATCH, OUR_BATCH = ["-bs", "64"], ["-bs", "44"]


def timed(command, log):
    """Runs a command with all cores, and returns the seconds it took."""
    begin = time.monotonic()
    with open(log, "w") as out:
        done = subprocess.run(list(map(str, command)), stdout=out, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed; its output is in {log}")
    return time.monotonic() - begin


def theirs(work):
    model = work / "parlai"
    for file in work.glob("parlai*"):
        file.unlink()
    seconds = timed([sys.executable, "-m", "parlai", "train_model", *parlai_peer.task(work / "text"), *MODEL, *THEIR_BATCH, "--no-cuda",
                     "--dict-lower", "true", "--dict-file", work / "dict", "-mf", model], work / "parlai.log")
    return seconds, validation_of(model)["ppl"]


def ours(work, program, precision):
    model = work / f"lockstep-{precision}"
    shutil.rmtree(model, ignore_errors=True)
    seconds = timed([program, "train", "--data", work / "data", "-mf", model, *MODEL, *OUR_BATCH, "--precision", precision],
                    work / f"lockstep-{precision}.log")
    return seconds, evaluate(program, work / "data", model)["ppl"]


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--rows", default=1596, type=int, help="rows of train.txt; validation has a ninth of them")
    parser.add_argument("--rounds", default=3, type=int)
    arguments = parsed(parser)
    work, program = arguments.work, arguments.lockstep
    prepare_for_both(arguments, arguments.rows)
    ratios = {"bf16": [], "fp32": []}
    print("| | s | validation perplexity |\n| --- | --- | --- |")
    for _ in range(arguments.rounds):
        peer_s, perplexity = theirs(work)
        print(f"| ParlAI | {peer_s:.1f} | {perplexity:.0f} |", flush=True)
        for precision, found in ratios.items():
            seconds, perplexity = ours(work, program, precision)
            found.append(peer_s / seconds)
            print(f"| Lockstep, {precision} | {seconds:.1f} | {perplexity:.0f} |", flush=True)
    for precision, found in ratios.items():
        print(f"{precision}: {statistics.median(found):.2f} x ParlAI's speed")


if __name__ == "__main__":
    main()
