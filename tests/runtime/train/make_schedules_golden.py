#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/training/schedules.json: the learning rate of every update, by the schedulers
of ParlAI 1.7.2, of transformers and of torch.

ParlAI's own parser reads the same options that the test gives to `train`. Needs torch, transformers
and ParlAI (`PYTHONPATH`); run once by hand: the test reads only the file it wrote.
"""
import json
import math
import pathlib
import warnings

import torch
import transformers
from torch.optim import lr_scheduler

warnings.filterwarnings("ignore")


class Plateau(lr_scheduler.ReduceLROnPlateau):
    """Newer torch has no `verbose`, which ParlAI gives."""

    def __init__(self, *args, verbose=None, **kwargs):
        super().__init__(*args, **kwargs)


lr_scheduler.ReduceLROnPlateau = Plateau

from parlai.core.exceptions import StopTrainException
from parlai.core.torch_agent import TorchAgent
from parlai.nn.lr_scheduler import ParlAILRScheduler
from parlai.scripts.train_model import setup_args

# The loss of a validation does not matter to most schedules; for reduceonplateau it never improves.
LOSS = 5.0


def optimizer_of(rate):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


def parlai_options(words):
    parser = setup_args()
    TorchAgent.add_cmdline_args(parser)
    return vars(parser.parse_known_args(words.split())[0])


def by_parlai(words):
    opt = parlai_options(words)
    optimizer = optimizer_of(opt["learningrate"])
    scheduler = ParlAILRScheduler.lr_scheduler_factory(opt, optimizer, {})
    rates = []
    every = opt["validation_every_n_steps"]
    for update in range(1, opt["max_train_steps"] + 1):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if scheduler is None:
            continue
        try:
            scheduler.step(update)
        except StopTrainException:
            assert update == opt["max_train_steps"]
        if every > 0 and update % every == 0:
            scheduler.valid_step({"loss": LOSS})
    return rates


def by_torch(rate, updates, make):
    optimizer = optimizer_of(rate)
    scheduler = make(optimizer)
    rates = []
    for _ in range(updates):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def case(namesake, options, rates):
    assert all(math.isfinite(r) for r in rates)
    return {"namesake": namesake, "options": options, "rates": rates}


PARLAI = [
    "-lr 0.5 --lr-scheduler linear --max-train-steps 30",
    "-lr 0.5 --lr-scheduler linear --warmup-updates 10 --max-train-steps 40",
    "-lr 0.5 --lr-scheduler linear --warmup-updates 7 --warmup-rate 0.1 --max-lr-steps 30",
    "-lr 0.25 --lr-scheduler invsqrt --max-train-steps 30",
    "-lr 0.25 --lr-scheduler invsqrt --warmup-updates 8 --max-train-steps 60",
    "-lr 0.25 --lr-scheduler invsqrt --warmup-updates 5 --invsqrt-lr-decay-gamma 20 "
    "--max-train-steps 40",
    "-lr 0.25 --lr-scheduler none --max-train-steps 5",
    "-lr 0.125 --lr-scheduler fixed --lr-scheduler-patience 2 --lr-scheduler-decay 0.7 -vstep 3 "
    "--max-train-steps 30",
    "-lr 0.125 --lr-scheduler fixed --warmup-updates 10 -vstep 4 --max-train-steps 40",
    "-lr 1e-5 -vstep 2 --max-train-steps 30",
    "-lr 3e-8 --lr-scheduler-patience 1 -vstep 2 --max-train-steps 20",  # torch's least change
    "-lr 1e-5 --lr-scheduler reduceonplateau --lr-scheduler-patience 1 --lr-scheduler-decay 0.3 "
    "--warmup-updates 10 -vstep 2 --max-train-steps 40",
]
golden = [case("parlai", words, by_parlai(words)) for words in PARLAI]

T, W, GAMMA, RATE = 40, 10, 15, 0.5
WARM = f"-lr {RATE} --warmup-updates {W} --warmup-rate 0 --max-train-steps {T} --lr-scheduler "
for words, make in (
        ("linear", lambda o: transformers.get_linear_schedule_with_warmup(o, W, T)),
        ("cosine", lambda o: transformers.get_cosine_schedule_with_warmup(o, W, T)),
        ("invsqrt", lambda o: transformers.get_inverse_sqrt_schedule(o, W)),
        (f"invsqrt --invsqrt-lr-decay-gamma {GAMMA}",
         lambda o: transformers.get_inverse_sqrt_schedule(o, W, timescale=GAMMA))):
    golden.append(case("transformers", WARM + words, by_torch(RATE, T, make)))
golden.append(case("torch", f"-lr {RATE} --lr-scheduler cosine --max-train-steps {T}",
                   by_torch(RATE, T, lambda o: lr_scheduler.CosineAnnealingLR(o, T))))

path = pathlib.Path(__file__).parents[2] / "golden" / "training" / "schedules.json"
path.parent.mkdir(exist_ok=True)
path.write_text("[\n" + ",\n".join(json.dumps(c) for c in golden) + "\n]\n")
