#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/training/: start.safetensors, the weights of a tiny model; dialogues.txt, its
data; and for each case of optimizers.json the weights after some updates, by the optimizers that
ParlAI 1.7.2 makes of the same options, by torch's and by transformers'.

The model is the one of tests/model/export_goldens.py, in fp64. Needs torch, transformers,
safetensors and ParlAI (`PYTHONPATH`); run once by hand: the test reads only the files it wrote.
"""
import collections
import json
import pathlib
import sys
import types

import torch
import transformers
from safetensors.torch import save_file

from parlai.core.torch_agent import TorchAgent
from parlai.scripts.train_model import setup_args

TESTS = pathlib.Path(__file__).parents[2]
FOLDER = TESTS / "golden" / "training"
sys.path.insert(0, str(TESTS / "model"))
from export_goldens import BASE, END, START, Transformer

UPDATES = 5
DIALOGUES = [("the king is here", "long may he reign"), ("who goes there", "a friend"),
             ("what news from the north", "none but the wind and the snow my lord"),
             ("is the wind cold", "the snow is")]
SHAPE = {"embedding_size": 8, "ffn_size": 12, "n_heads": 2, "n_encoder_layers": 1,
         "n_decoder_layers": 1, "n_positions": 16}
SPECIAL = ["__null__", "__start__", "__end__", "__unk__"]


def words_of(*texts):
    counts = collections.Counter(w for text in texts for w in text.split())
    return SPECIAL + sorted(counts, key=lambda w: (-counts[w], w))


DICTIONARY = words_of(*(side for row in DIALOGUES for side in row))
CONFIG = {**BASE, **SHAPE, "vocabulary_size": len(DICTIONARY)}


def batch():
    ids = lambda text: [DICTIONARY.index(w) for w in text.split()]
    replies = [ids(label) + [END] for _, label in DIALOGUES]
    return {"source": [ids(text) for text, _ in DIALOGUES], "labels": replies,
            "target": [[START] + reply[:-1] for reply in replies]}


def parlai_options(words):
    parser = setup_args()
    TorchAgent.add_cmdline_args(parser)
    return vars(parser.parse_known_args(words.split())[0])


def parlai_optimizer(groups, opt):
    """What a ParlAI agent makes of its options."""
    agent = types.SimpleNamespace(opt=opt, fp16=False, optim_opts=TorchAgent.optim_opts)
    TorchAgent.init_optim(agent, groups)
    return agent.optimizer


def groups_of(model, decay):
    """Lockstep's documented difference: biases and norms do not decay."""
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    flat = [p for n, p in trained if n.endswith("bias") or "norm" in n]
    return [{"params": [p for _, p in trained if not any(p is f for f in flat)],
             "weight_decay": decay}, {"params": flat, "weight_decay": 0.0}]


def train(case):
    model = Transformer(CONFIG).double()
    model.set_pattern()
    opt = parlai_options(case["options"])
    groups = groups_of(model, opt["weight_decay"] or 0.0)
    optimizer = case.pop("make")(groups, opt)
    data, losses = batch(), []
    tokens = sum(len(row) for row in data["labels"])
    for _ in range(UPDATES):
        optimizer.zero_grad()
        loss = model.losses(data)[0] / tokens
        loss.backward()
        losses.append(loss.item())
        if opt["gradient_clip"] > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), opt["gradient_clip"])
        optimizer.step()
    case["losses"] = losses
    save(model, case["name"])
    return case


def save(model, name):
    tensors = {n: t.detach().float().contiguous() for n, t in model.stored(lambda p: p).items()}
    save_file(tensors, FOLDER / (name + ".safetensors"))


def adam(kind):
    return lambda groups, opt: kind(groups, lr=opt["learningrate"], betas=opt["betas"],
                                    eps=opt["adam_eps"])


def adafactor(**options):
    return lambda groups, opt: transformers.Adafactor(groups, warmup_init=False, **options)


def case(name, namesake, options, make, own=""):
    return {"name": name, "namesake": namesake, "options": options, "own": own, "make": make}


CASES = [
    case("sgd_momentum", "ParlAI", "-opt sgd -lr 2 -mom 0.9", parlai_optimizer),
    case("sgd_plain_momentum", "ParlAI", "-opt sgd -lr 2 -mom 0.9 --nesterov false -wdecay 0.1",
         parlai_optimizer),
    case("adam", "ParlAI", "-opt adam -lr 0.02 -beta 0.9,0.5 --adam-eps 1e-6 -clip -1",
         parlai_optimizer, "--amsgrad true"),
    case("torch_adam", "torch", "-opt adam -lr 0.02 -beta 0.8,0.9 --adam-eps 1e-6",
         adam(torch.optim.Adam)),
    case("torch_adamw", "torch", "-opt adamw -lr 0.02 -wdecay 0.3", adam(torch.optim.AdamW)),
    case("adafactor", "ParlAI", "-opt adafactor -lr 0.02", parlai_optimizer),
    case("adafactor_eps", "ParlAI", "-opt adafactor -lr 0.02 -beta 0.5,0.9 -wdecay 0.3"
         " --adafactor-eps 1e-3,1e-3", parlai_optimizer),
    case("adafactor_scale", "transformers", "-opt adafactor -lr 0.1 -beta 0,0.9",
         adafactor(lr=0.1, relative_step=False), "--adafactor-scale-parameter true"),
    case("adafactor_relative", "transformers", "-opt adafactor --adafactor-eps 1e-30,0.5",
         adafactor(beta1=0.9, eps=(1e-30, 0.5)), "--adafactor-relative-step true"),
]

FOLDER.mkdir(exist_ok=True)
(FOLDER / "dialogues.txt").write_text("".join(
    f"text:{text}\tlabels:{label}\tepisode_done:True\n" for text, label in DIALOGUES))
start = Transformer(CONFIG).double()
start.set_pattern()
save(start, "start")
golden = {"updates": UPDATES, "shape": SHAPE, "cases": [train(c) for c in CASES]}
(FOLDER / "optimizers.json").write_text(json.dumps(golden, indent=1) + "\n")
