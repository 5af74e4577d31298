#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/training/epoch_schedules.json: the learning rate of every update of runs whose
epochs tell how many updates they have, and of warm-ups that are a share of them, by transformers'
schedulers and the rounding of its Trainer.

Needs torch and transformers 5; run once by hand: the test reads only the file it wrote.
"""
import json
import math
import pathlib
import types

import torch
import transformers

ROWS, BATCH, RATE = 20, 4, 0.5  # as schedules_test.cpp has


def updates_of(epochs, accumulation):
    """As Trainer.set_initial_training_values does."""
    batches = len(torch.utils.data.DataLoader(range(ROWS), batch_size=BATCH))
    per_epoch = max(batches // accumulation + int(batches % accumulation > 0), 1)
    return math.ceil(epochs * per_epoch)


def warmup_of(updates, ratio):
    arguments = types.SimpleNamespace(warmup_steps=ratio)  # below 1 it is a share
    return transformers.TrainingArguments.get_warmup_steps(arguments, updates)


def rates_of(name, warmup, updates, lowest):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=RATE)
    more = {"polynomial": {"power": 1.0, "lr_end": lowest}, "cosine_with_min_lr": {"min_lr": lowest},
            WSD: {"num_decay_steps": math.ceil(DECAY_RATIO * updates), "min_lr_ratio": (lowest or 0) / RATE}}.get(name)
    scheduler = transformers.get_scheduler(name, optimizer, warmup, updates, more)
    rates = []
    for _ in range(updates):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


WSD, DECAY_RATIO = "warmup_stable_decay", 0.3
OURS = {WSD: f"wsd --decay-ratio {DECAY_RATIO}", "constant_with_warmup": "fixed --lr-scheduler-decay 1", "inverse_sqrt": "invsqrt",
        "polynomial": "linear", "cosine_with_min_lr": "cosine"}
golden = []
for name, ratio, length, *floor in (
        ("linear", None, "--num-epochs 3"),
        ("cosine", None, "--num-epochs 3"),
        ("linear", 0.1, "--num-epochs 3"),
        ("cosine", 0.1, "--num-epochs 2.5"),
        ("linear", 0.3, "--num-epochs 4 --update-freq 2"),
        ("cosine", 0.07, "--max-train-steps 100"),  # 100 * 0.07 is more than 7
        ("constant_with_warmup", 0.2, "--num-epochs 2"),
        ("inverse_sqrt", 0.25, "--num-epochs 4"),
        (WSD, 0.1, "--max-train-steps 50"),
        (WSD, None, "--num-epochs 4"),
        ("polynomial", 0.1, "--num-epochs 4", 0.05),
        ("cosine_with_min_lr", 0.2, "--max-train-steps 30", 0.125),
        (WSD, None, "--num-epochs 5", 0.1)):
    words = dict(zip(length.split()[::2], length.split()[1::2]))
    updates = int(words.get("--max-train-steps", 0)) or updates_of(
        float(words["--num-epochs"]), int(words.get("--update-freq", 1)))
    options = f"-lr {RATE} --lr-scheduler {OURS.get(name, name)} {length}"
    if ratio is not None:
        options += f" --warmup-rate 0 --warmup-ratio {ratio}"
    lowest = floor[0] if floor else None
    if lowest is not None:
        options += f" --min-lr {lowest}"
    golden.append({"options": options,
                   "rates": rates_of(name, warmup_of(updates, ratio or 0), updates, lowest)})

path = pathlib.Path(__file__).parents[2] / "golden" / "training" / "epoch_schedules.json"
path.write_text("[\n" + ",\n".join(json.dumps(c) for c in golden) + "\n]\n")
