#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden/parlai_options.txt: the options of ParlAI's programs, from its own parsers.

    pip install parlai==1.7.2 && make_parlai_options_golden.py

One line for each program: Lockstep's name of it, then every name of every option, without dashes.
"""
import importlib
import os

PROGRAMS = {
    "train": ("train_model", ["-m", "transformer/generator"]),
    "multiprocessing_train": ("multiprocessing_train", ["-m", "transformer/generator"]),
    "distributed_train": ("distributed_train", ["-m", "transformer/generator"]),
    "eval": ("eval_model", ["-m", "transformer/generator"]),
    "multiprocessing_eval": ("multiprocessing_eval", ["-m", "transformer/generator"]),
    "interactive": ("interactive", ["-m", "transformer/generator"]),
    "self_chat": ("self_chat", ["-m", "transformer/generator"]),
}


def names(module, words):
    parser = importlib.import_module("parlai.scripts." + module).setup_args()
    parser.add_extra_args(words + ["-t", "fromfile:parlaiformat"])
    return sorted({o.lstrip("-") for a in parser._actions for o in a.option_strings})


folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "parlai_options.txt"), "w") as out:
    for program, (module, words) in PROGRAMS.items():
        print(program, *names(module, words), file=out)
