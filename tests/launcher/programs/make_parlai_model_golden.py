#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/parlai: a tiny model that ParlAI 1.7.2 trained on 30 rows, converted, and what ParlAI itself says to
them. It knows them half by heart, so that its replies depend on the context and some never end.

    make_parlai_model_golden.py WORK

Run it where it lies, in a Python that has ParlAI 1.7.2, torch, safetensors and xxhash.
"""

import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))
import parlai_peer

SHAPE = (
    "--variant prelayernorm --activation gelu --learn-positional-embeddings true --embedding-size 16 --ffn-size 32 "
    "--text-truncate 48 --label-truncate 16 --n-positions 48 -lr 5e-3 -clip 1 -bs 10 --max-train-steps 150 --seed 3"
).split()
SEARCHES = {
    "greedy": "--inference greedy",
    "beam": "--inference beam --beam-size 4",
    "blocks": "--inference beam --beam-size 4 --beam-block-ngram 2 --beam-context-block-ngram 3 --beam-min-length 4",
}
OF_REPLIES = ["accuracy", "f1", "bleu-4"]


def main():
    work = pathlib.Path(sys.argv[1]).resolve()
    golden = ROOT / "tests/golden/parlai"
    work.mkdir(parents=True, exist_ok=True)
    lines = (ROOT / "examples/shakespeare/valid.txt").read_text().splitlines()
    rows = [row for row in lines if len(row) < 160][:30]
    parlai_peer.write_task(work / "text", train=rows, valid=rows)
    parlai_peer.train(work / "model", work / "text", work / "dict", SHAPE)

    shutil.rmtree(golden, ignore_errors=True)
    subprocess.run([sys.executable, ROOT / "examples/weights_from_parlai.py", work / "model", golden / "model"], check=True)
    said = {}
    for name, options in SEARCHES.items():
        answers = parlai_peer.answers(work / "model", work / "text", ["-bs", "10", "--skip-generation", "false", *options.split()])
        means = {metric: sum(answer.metrics[metric] for answer in answers) / len(answers) for metric in OF_REPLIES}
        said[name] = {"options": options.split(), "metrics": means, "replies": [answer.reply for answer in answers]}
    tokens = sum(answer.tokens for answer in answers)
    expected = {
        "loss": sum(answer.loss * answer.tokens for answer in answers) / tokens,
        "token_acc": sum(answer.correct for answer in answers) / tokens,
        "tokens": tokens,
        "searches": list(said.values()),
    }
    shutil.copy(work / "text_valid.txt", golden / "rows.txt")
    (golden / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
