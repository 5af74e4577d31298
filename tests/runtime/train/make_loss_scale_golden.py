#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/training/loss_scale.json: how ParlAI 1.7.2's DynamicLossScaler, with its own
defaults, moves with overflows.

Needs torch and ParlAI (`PYTHONPATH`); run once by hand: the test reads only the file it wrote.
"""
import json
import pathlib
import random

from parlai.utils.fp16 import DynamicLossScaler


def run(steps, overflows, first, **options):
    scaler = DynamicLossScaler(init_scale=first, **{f"scale_{k}": v for k, v in options.items()})
    changed, scales = [], []
    for step in range(steps):
        before = scaler.loss_scale
        scaler.update_scale(step in overflows)
        if scaler.loss_scale != before:
            changed.append(step)
            scales.append(scaler.loss_scale)
    return {"first": first, **options, "steps": steps, "overflows": sorted(overflows),
            "changed": changed, "scales": scales}


rng = random.Random(5)
golden = [
    run(5000, {0, 1, 1500, 1501, 1502, 4400}, 2.0**15),  # the defaults of --fp16-impl safe
    run(64, {13, 14, 20, 21, 28, 31, 34, 36, 41, 62}, 2.0**15, window=7),
    run(400, set(rng.sample(range(400), 25)), 2.0**17, window=10),
]
path = pathlib.Path(__file__).parents[2] / "golden" / "training" / "loss_scale.json"
path.parent.mkdir(exist_ok=True)
path.write_text("[\n" + ",\n".join(json.dumps(g) for g in golden) + "\n]\n")
