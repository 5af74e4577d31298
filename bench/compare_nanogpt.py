#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares nanoGPT's recipe shakespeare_char for CPUs with the same run of Lockstep, in turns on this machine.

    compare_nanogpt.py --program BUILD/bin/lockstep --nanogpt CHECKOUT --work FOLDER [--seeds 1,2,3]

CHECKOUT is a clone of github.com/karpathy/nanoGPT. Both take 2,000 updates of 12 rows of 64 characters with 4 layers of width 128,
AdamW and a cosine that falls to a tenth of the rate. Prints, for each seed, the seconds of the whole command and the loss over
the whole of the validation text, in rows of 64 whose first character is predicted from the one before it. It is run with a Python
that has torch and NumPy.
"""
import argparse
import json
import os
import pathlib
import pickle
import runpy
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = ROOT / "examples/shakespeare/plain.txt"
TRAINING_CHARACTERS, BLOCK = 1003854, 64
THEIRS = ("--device=cpu --compile=False --eval_iters=20 --log_interval=500 --block_size=64 --batch_size=12 --n_layer=4 --n_head=4 "
          "--n_embd=128 --max_iters=2000 --lr_decay_iters=2000 --dropout=0.0 --eval_interval=2000").split()
OURS = ("--model gpt2 --n-layers 4 --n-heads 4 --embedding-size 128 --ffn-size 512 --n-positions 64 -bs 12 --max-train-steps 2000 "
        "-lr 1e-3 --min-lr 1e-4 --lr-scheduler cosine --warmup-updates 100 --optimizer adamw --weight-decay 0.1 --betas 0.9,0.99 --gradient-clip 1 "
        "--precision fp32 --device cpu").split()


def write_their_data(checkout):
    import numpy

    text = TEXT.read_text()
    number = {character: i for i, character in enumerate(sorted(set(text)))}
    ids = numpy.array([number[character] for character in text], dtype=numpy.uint16)
    ids[:TRAINING_CHARACTERS].tofile(checkout / "data/shakespeare_char/train.bin")
    ids[TRAINING_CHARACTERS:].tofile(checkout / "data/shakespeare_char/val.bin")
    (checkout / "data/shakespeare_char/meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(number)}))


def write_our_data(program, work):
    text = TEXT.read_text()
    for name, part in (("train.txt", text[:TRAINING_CHARACTERS]), ("valid.txt", text[TRAINING_CHARACTERS:])):
        (work / name).write_text(part)
    shutil.rmtree(work / "data", ignore_errors=True)
    subprocess.run([program, "prepare", "--format", "text", "--tokenizer", "char", "--input", work / "train.txt",
                    "--valid", work / "valid.txt", "--block-size", str(BLOCK), "--out", work / "data"], check=True, capture_output=True)


def train_theirs(checkout, seed, out):
    """Runs nanoGPT's train.py with another seed; it has no option for one."""
    import torch

    seeded = torch.manual_seed
    torch.manual_seed = lambda number: seeded(number + seed)
    sys.argv = ["train.py", "config/train_shakespeare_char.py", *THEIRS, f"--out_dir={out}"]
    os.chdir(checkout)
    sys.path.insert(0, str(checkout))
    runpy.run_path("train.py", run_name="__main__")


def their_loss(checkout, out):
    import numpy
    import torch

    sys.path.insert(0, str(checkout))
    from model import GPT, GPTConfig

    saved = torch.load(out / "ckpt.pt", weights_only=False)
    model = GPT(GPTConfig(**saved["model_args"]))
    model.load_state_dict(saved["model"])
    model.eval()
    ids = torch.from_numpy(numpy.fromfile(checkout / "data/shakespeare_char/val.bin", dtype=numpy.uint16).astype(numpy.int64))
    rows = (len(ids) - 1) // BLOCK
    given, wanted = ids[:rows * BLOCK].view(rows, BLOCK), ids[1:rows * BLOCK + 1].view(rows, BLOCK)
    with torch.no_grad():
        return sum(model(given[i:i + BLOCK], wanted[i:i + BLOCK])[1].item() * len(given[i:i + BLOCK]) for i in range(0, rows, BLOCK)) / rows


def theirs(given, seed):
    out = given.work / f"nanogpt-{seed}"
    begin = time.perf_counter()
    subprocess.run([sys.executable, __file__, "--program", given.program, "--nanogpt", given.nanogpt, "--work", given.work,
                    "--seeds", str(seed), "--train-theirs", str(out)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin, their_loss(given.nanogpt, out)


def ours(given, seed):
    run = given.work / f"run-{seed}"
    shutil.rmtree(run, ignore_errors=True)
    begin = time.perf_counter()
    subprocess.run([given.program, "train", "--data", given.work / "data", "-mf", run, "--seed", str(seed), *OURS], check=True,
                   stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - begin
    subprocess.run([given.program, "eval", "-mf", run, "--data", given.work / "data", "--split", "valid", "--checkpoint", "last"],
                   check=True, stdout=subprocess.DEVNULL)
    return seconds, json.loads((run / "report.json").read_text())["final_valid_report"]["loss"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=os.path.abspath)
    parser.add_argument("--nanogpt", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--work", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--train-theirs", help=argparse.SUPPRESS)
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    if given.train_theirs:
        return train_theirs(given.nanogpt, seeds[0], given.train_theirs)
    given.work.mkdir(parents=True, exist_ok=True)
    write_their_data(given.nanogpt)
    write_our_data(given.program, given.work)
    for seed in seeds:
        (own_s, own_loss), (their_s, loss) = ours(given, seed), theirs(given, seed)
        print(f"seed {seed}: Lockstep {own_s:.1f} s, loss {own_loss:.4f}; nanoGPT {their_s:.1f} s, loss {loss:.4f}; "
              f"time / nanoGPT's {own_s / their_s:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
