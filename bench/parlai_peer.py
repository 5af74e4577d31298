# SPDX-License-Identifier: Apache-2.0
"""Trains models and answers rows with ParlAI 1.7.2 as a peer, for the comparisons in this folder.

It needs a Python that has ParlAI. ParlAI's old version pins are not needed: it works with PyTorch 2 and Python 3.11.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

Answer = collections.namedtuple("Answer", "reply loss tokens correct metrics")

TRAINING = (
    "-m transformer/generator --n-layers 2 --n-heads 4 --embedding-size 64 --ffn-size 128 --dict-lower true "
    "--optimizer adam --lr-scheduler fixed --text-truncate 128 --label-truncate 64 --skip-generation true --no-cuda"
).split()


def parlai(script, arguments, log):
    """Runs one of ParlAI's scripts and writes its output to a file."""
    command = [sys.executable, "-m", "parlai", script, *map(str, arguments)]
    with open(log, "w") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed; its output is in {log}")


def task(stem):
    return ["-t", "fromfile:parlaiformat", "--fromfile-datapath", stem, "--fromfile-datatype-extension", "true"]


def write_task(stem, **splits):
    """Writes rows in ParlAI's text format to the files that its teacher expects: STEM_train.txt and so on."""
    for name in ["train", "valid", "test"]:
        rows = splits.get(name) or splits["valid"]
        pathlib.Path(f"{stem}_{name}.txt").write_text("".join(row + "\n" for row in rows))


def train(model, stem, dictionary, options):
    """Trains MODEL unless it exists. Returns the log."""
    log = pathlib.Path(f"{model}.log")
    if not pathlib.Path(f"{model}.test").exists():
        arguments = [*task(stem), *TRAINING, "--dict-file", dictionary, *options, "-mf", model]
        parlai("train_model", arguments, log)
    return log


def read_episodes(path):
    """Returns the rows of a file in ParlAI's text format, by episodes: (text, label) each."""
    episodes = [[]]
    for line in pathlib.Path(path).read_text().splitlines():
        fields = dict(field.split(":", 1) for field in line.split("\t"))
        episodes[-1].append((fields["text"], fields["labels"]))
        if "episode_done" in fields:
            episodes.append([])
    return [tuple(episode) for episode in episodes if episode]


def answers(model, stem, options):
    """Returns ParlAI's reply to each row of STEM_valid.txt, in the file's order."""
    arguments = [*task(stem), "-dt", "valid", "-mf", model, "--no-cuda", *options]
    logs = pathlib.Path(f"{model}.answers.jsonl")
    logs.unlink(missing_ok=True)
    parlai("eval_model", [*arguments, "--world-logs", logs], f"{model}.answers.log")
    found = {}
    for line in logs.read_text().splitlines():
        turns = json.loads(line)["dialog"]
        episode = tuple((asked["text"], asked["eval_labels"][0]) for asked, _ in turns)
        found[episode] = [answer_of(said) for _, said in turns]
    return [answer for episode in read_episodes(f"{stem}_valid.txt") for answer in found[episode]]


def answer_of(said):
    metrics = said["metrics"]
    tokens = metrics["llen"] - metrics["ltrunclen"]
    return Answer(said.get("text"), metrics["loss"], round(tokens), round(metrics["token_acc"] * tokens), metrics)
