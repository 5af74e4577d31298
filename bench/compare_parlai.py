#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Lockstep with ParlAI from the same weights: perplexity, token accuracy, greedy and beam replies.

    compare_parlai.py WORK --lockstep build/bin/lockstep --data examples/shakespeare

Trains small models with ParlAI (once; they stay in WORK) on the rows that are asked for later, so that replies
depend on their contexts. Converts them with examples/weights_from_parlai.py, asks both programs and prints a
table. The exit code is 1 if they disagree. Each reply that differs is shown with the margin by which ParlAI's own
model, in float64, prefers one to the other. The script needs a Python with ParlAI 1.7.2, torch, safetensors and xxhash.
"""

import argparse
import math
import pathlib
import shutil
import subprocess
import sys

import parlai_peer

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = {
    "aiayn": "--variant aiayn",
    "prelayernorm": "--variant prelayernorm --activation gelu --learn-positional-embeddings true --n-positions 160",
    "xlm": "--variant xlm --activation gelu --embeddings-scale false",
}
SEARCHES = {
    "greedy": "--inference greedy",
    "beam 4": "--inference beam --beam-size 4",
    "beam 4, blocks": "--inference beam --beam-size 4 --beam-block-ngram 3 --beam-context-block-ngram 3 --beam-min-length 5",
}

MAX_NOTES = 10  # per model and search


def lockstep(program, *arguments):
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def contexts_of(episodes):
    """Returns the history of each row, with its turns joined by line feeds."""
    for episode in episodes:
        said = []
        for text, label in episode:
            said.append(text)
            yield "\n".join(said)
            said.append(label)


def evaluate(program, data, model):
    lines = lockstep(program, "eval", "--data", data, "-mf", model, "--split", "valid", "--precision", "fp32",
                     "--skip-generation", "true", "-bs", 16)
    return {line.split()[1]: float(line.split()[2]) for line in lines.splitlines()}


def replies(program, model, prompts, work, options):
    lockstep(program, "generate", "-mf", model, "--input", prompts, "--output", work / "replies.txt",
             "--overwrite", "true", "--precision", "fp32", "-bs", 25, *options)
    return (work / "replies.txt").read_text().splitlines()


class Judge:
    """Loads ParlAI's model in float64."""

    def __init__(self, model):
        from parlai.core.agents import create_agent_from_model_file

        self.agent = create_agent_from_model_file(str(model), {"no_cuda": True})
        self.agent.model.double().eval()

    def score(self, context, reply, penalty):
        """Returns the sum of log-probabilities, divided by the length penalty."""
        import torch

        words = self.agent.dict
        tokens = (words.txt2vec(reply) + [words[words.end_token]])[: self.agent.label_truncate]
        source = torch.tensor([words.txt2vec(context)[-self.agent.text_truncate :]])
        with torch.no_grad():
            logits, _ = self.agent.model(source, ys=torch.tensor([tokens]))[:2]
        chances = logits[0].log_softmax(-1).gather(1, torch.tensor(tokens)[:, None])
        return chances.sum().item() / ((2 + len(tokens)) / 6) ** penalty


def compare_figures(name, ours, theirs):
    tokens = sum(answer.tokens for answer in theirs)
    loss = sum(answer.loss * answer.tokens for answer in theirs) / tokens
    expected = {"ppl": math.exp(loss), "token_acc": sum(answer.correct for answer in theirs) / tokens}
    agreed = ours["tokens"] == tokens
    for metric, value in expected.items():
        off = abs(ours[metric] / value - 1)
        agreed = agreed and off < 1e-4
        print(f"| {name} | {metric} | {value:.6g} | {ours[metric]:.6g} | {off:.0e} |", flush=True)
    return agreed


def compare_replies(name, search, contexts, ours, theirs, judge):
    same = sum(a == b.reply for a, b in zip(ours, theirs, strict=True))
    print(f"| {name} | replies, {search} | {len(theirs)} rows | {same} equal, {len(set(ours))} different ones | {1 - same / len(theirs):.1%} |", flush=True)
    notes = []
    penalty = 0.0 if search == "greedy" else 0.65
    for row, (context, mine, other) in enumerate(zip(contexts, ours, theirs)):
        if mine != other.reply:
            margin = judge().score(context, other.reply, penalty) - judge().score(context, mine, penalty)
            notes.append(f"{name}, {search}, row {row}: margin {margin:.2e}\n  ParlAI:   {other.reply}\n  Lockstep: {mine}")
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES:] = [f"{name}, {search}: and {len(notes) - MAX_NOTES} more"]
    return same >= 0.99 * len(theirs), notes


def compare(name, work, arguments):
    model, folder, stem = work / name / "model", work / name / "lockstep", work / "rows"
    model.parent.mkdir(exist_ok=True)
    training = [*MODELS[name].split(), "-lr", "3e-3", "-clip", "1", "-bs", "10", "--seed", "1", "--max-train-steps", arguments.steps]
    parlai_peer.train(model, stem, work / "dict", training)
    if not folder.exists():
        subprocess.run([sys.executable, ROOT / "examples/weights_from_parlai.py", model, folder], check=True)
    data = work / name / "data"
    lockstep(arguments.lockstep, "prepare", "--format", "parlai", "--input", f"{stem}_valid.txt", "--valid",
             f"{stem}_valid.txt", "--dict-file", folder / "dictionary.txt", "--dict-lower", "true", "--out", data, "--overwrite")
    contexts = list(contexts_of(parlai_peer.read_episodes(f"{stem}_valid.txt")))
    prompts = work / "prompts.txt"
    prompts.write_text("".join(context.replace("\n", "\\n") + "\n" for context in contexts))
    judges = []

    def judge():
        if not judges:
            judges.append(Judge(model))
        return judges[0]

    agreed, notes = True, []
    for search, options in SEARCHES.items():
        theirs = parlai_peer.answers(model, stem, ["-bs", "25", "--skip-generation", "false", *options.split()])
        if search == "greedy":
            agreed = compare_figures(name, evaluate(arguments.lockstep, data, folder), theirs)
        ours = replies(arguments.lockstep, folder, prompts, work, options.split())
        good, more = compare_replies(name, search, contexts, ours, theirs, judge)
        agreed, notes = agreed and good, notes + more
    return agreed, notes


def parser_of(description):
    """Returns a parser of the options that the comparisons with ParlAI share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path, metavar="WORK")
    parser.add_argument("--lockstep", default=ROOT / "build/bin/lockstep", type=pathlib.Path)
    parser.add_argument("--data", default=ROOT / "examples/shakespeare", type=pathlib.Path,
                        help="holds train.txt, valid.txt and dict.parlai")
    return parser


def parsed(parser):
    """Returns the arguments with whole paths. The folder `work` is there."""
    arguments = parser.parse_args()
    arguments.lockstep, arguments.work = arguments.lockstep.resolve(), arguments.work.resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    return arguments


def rows_of(folder):
    """Returns the rows of a folder's train.txt and of its valid.txt."""
    return ((folder / f"{split}.txt").read_text().splitlines() for split in ["train", "valid"])


def prepare_for_both(arguments, rows=None):
    """Writes the first rows, with a ninth of them for validation, or all rows, as both programs read them."""
    work = arguments.work
    train, valid = rows_of(arguments.data)
    parlai_peer.write_task(work / "text", train=train[:rows], valid=valid[:rows and rows // 9])
    shutil.copy(arguments.data / "dict.parlai", work / "dict")
    lockstep(arguments.lockstep, "prepare", "--format", "parlai", "--input", work / "text_train.txt", "--valid",
             work / "text_valid.txt", "--dict-file", work / "dict", "--dict-lower", "true", "--out", work / "data", "--overwrite")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--rows", default=500, type=int)
    parser.add_argument("--steps", default=600, type=int, help="of ParlAI's training")
    parser.add_argument("--models", default=",".join(MODELS), help="of " + ",".join(MODELS))
    arguments = parsed(parser)
    work = arguments.work
    train, valid = rows_of(arguments.data)
    parlai_peer.write_task(work / "rows", valid=(valid + train)[: arguments.rows])
    print("| model | | ParlAI | Lockstep | apart |\n| --- | --- | --- | --- | --- |")
    results = [compare(name, work, arguments) for name in arguments.models.split(",")]
    print("\n".join(["", *(note for _, notes in results for note in notes)]))
    sys.exit(0 if all(agreed for agreed, _ in results) else 1)


if __name__ == "__main__":
    main()
