#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares muon with 0.75 of the updates of adamw, on the characters of Shakespeare.

    compare_muon.py --program BUILD/bin/lockstep --work FOLDER [--seeds 1,2,3,4,5] [--updates 200]

Each run's cosine ends with its own updates. Prints the loss of validation of each run, and for each seed the best of
both, each with four rates. Muon's runs give its adamw the middle of adamw's rates.
"""
import argparse
import json
import pathlib
import shutil
import subprocess

TEXT = pathlib.Path(__file__).resolve().parent.parent / "examples/shakespeare/plain.txt"
TRAINING_CHARACTERS = 1003854
MODEL = ("--model gpt2 --n-layers 4 --n-heads 4 --embedding-size 64 --ffn-size 256 --n-positions 64 -bs 12 --lr-scheduler cosine "
         "--gradient-clip 1 --weight-decay 0.1 --precision fp32 --device cpu --dropout 0 --save-every-n-secs -1").split()
RATES = {"adamw": ("2e-3", "4e-3", "8e-3", "1.6e-2"), "muon": ("1e-2", "2e-2", "4e-2", "8e-2")}
RATE = {"adamw": ("-lr",), "muon": ("-lr", "8e-3", "--muon-learningrate")}


def prepare(program, work):
    text = TEXT.read_text()
    for name, part in (("train.txt", text[:TRAINING_CHARACTERS]), ("valid.txt", text[TRAINING_CHARACTERS:])):
        (work / name).write_text(part)
    subprocess.run([program, "prepare", "--format", "text", "--tokenizer", "char", "--input", work / "train.txt", "--valid",
                    work / "valid.txt", "--block-size", "64", "--out", work / "data"], check=True, capture_output=True)


def loss(args, optimizer, rate, seed, updates):
    model = args.work / "model"
    shutil.rmtree(model, ignore_errors=True)
    subprocess.run([args.program, "train", "--data", args.work / "data", "-mf", model, *MODEL, "--optimizer", optimizer,
                    *RATE[optimizer], rate, "--seed", str(seed), "--max-train-steps", str(updates), "--warmup-updates",
                    str(updates // 10)], check=True, capture_output=True)
    lines = [json.loads(line) for line in (model / "metrics.jsonl").read_text().splitlines()]
    return next(line["loss"] for line in lines if line["kind"] == "final" and line["split"] == "valid")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--updates", type=int, default=200)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    prepare(args.program, args.work)
    updates = {"adamw": args.updates, "muon": args.updates * 3 // 4}
    for seed in args.seeds.split(","):
        best = {}
        for optimizer, rates in RATES.items():
            losses = [loss(args, optimizer, rate, seed, updates[optimizer]) for rate in rates]
            print(seed, optimizer, updates[optimizer], *(f"{r}: {x:.4f}" for r, x in zip(rates, losses)), flush=True)
            best[optimizer] = min(losses)
        print(seed, *(f"{name} {x:.4f}" for name, x in best.items()), "reached" if best["muon"] <= best["adamw"] else "missed",
              flush=True)


if __name__ == "__main__":
    main()
