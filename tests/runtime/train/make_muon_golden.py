#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/training/muon.json and the weights of its cases: those of make_optimizers_golden.py's model after
some updates of torch.optim.Muon for the matrices of layers and torch.optim.AdamW for the rest.

It needs torch, safetensors and the files that make_optimizers_golden.py wrote; run once by hand.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

TESTS = pathlib.Path(__file__).parents[2]
FOLDER = TESTS / "golden" / "training"
sys.path.insert(0, str(TESTS / "model"))
from export_goldens import BASE, END, START, Transformer

UPDATES = 5
SHAPE = json.loads((FOLDER / "optimizers.json").read_text())["shape"]
ROWS = [[field.split(":")[1].split() for field in line.split("\t")[:2]]
        for line in (FOLDER / "dialogues.txt").read_text().splitlines()]
COUNTS = {}
for word in (word for row in ROWS for side in row for word in side):
    COUNTS[word] = COUNTS.get(word, 0) + 1
DICTIONARY = ["__null__", "__start__", "__end__", "__unk__"] + sorted(COUNTS, key=lambda w: (-COUNTS[w], w))


def batch():
    source, replies = zip(*([[DICTIONARY.index(w) for w in side] for side in row] for row in ROWS))
    labels = [reply + [END] for reply in replies]
    return {"source": list(source), "labels": labels, "target": [[START] + list(reply) for reply in replies]}


def optimizers(model, decay, rate, betas, **muon):
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    hidden = [p for name, p in trained if ".layers." in name and p.ndim == 2]
    flat = [p for name, p in trained if p.ndim == 1]
    tables = [p for name, p in trained if p.ndim == 2 and ".layers." not in name]
    groups = [{"params": tables, "weight_decay": decay}, {"params": flat, "weight_decay": 0.0}]
    return [torch.optim.Muon(hidden, weight_decay=decay, **muon), torch.optim.AdamW(groups, lr=rate, betas=betas)]


def train(case):
    model = Transformer({**BASE, **SHAPE, "vocabulary_size": len(DICTIONARY)}).double()
    model.set_pattern()
    both, data, losses = optimizers(model, **case.pop("torch")), batch(), []
    for _ in range(UPDATES):
        model.zero_grad()
        loss = model.losses(data)[0] / sum(len(row) for row in data["labels"])
        loss.backward()
        losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        for optimizer in both:
            optimizer.step()
    tensors = {n: t.detach().float().contiguous() for n, t in model.stored(lambda p: p).items()}
    save_file(tensors, FOLDER / (case["name"] + ".safetensors"))
    return {**case, "own": "", "losses": losses}


CASES = [
    {"name": "torch_muon", "options": "-opt muon -lr 0.01 --muon-lr 0.01 -wdecay 0.3",
     "torch": {"decay": 0.3, "rate": 0.01, "betas": (0.9, 0.95), "lr": 0.01}},
    {"name": "torch_muon_match", "options": "-opt muon -lr 0.02 --muon-lr 0.02 --muon-adjust-lr match_rms_adamw"
     " --muon-momentum 0.8 --nesterov false -beta 0.8,0.9",
     "torch": {"decay": 0, "rate": 0.02, "betas": (0.8, 0.9), "lr": 0.02, "momentum": 0.8, "nesterov": False,
               "adjust_lr_fn": "match_rms_adamw"}},
]
golden = {"updates": UPDATES, "shape": SHAPE, "cases": [train(case) for case in CASES]}
(FOLDER / "muon.json").write_text(json.dumps(golden, indent=1) + "\n")
