#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a model of Hugging Face's transformers of a Lockstep model folder that holds a model of one of its families:
gpt2, llama, mistral, qwen2, qwen3, phi3, bart, blenderbot or blenderbot-small.

    weights_to_hf.py FOLDER OUT

`lockstep checkpoint convert FOLDER OUT --to transformers` does this for all models whose tokenizer came from transformers, and a
run that began from one writes such a folder by itself. This script calls it, and for models with a tokenizer of Lockstep's own
adds tokenizer.json and tokenizer_config.json for AutoTokenizer.from_pretrained(OUT) and Lockstep's own dictionary beside them. It
needs nothing but Python and `lockstep`, which the environment variable LOCKSTEP names if it is not on the PATH.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import tokenizer_to_hf


class Refused(Exception):
    """What is wrong with a request, in one line."""


def read_json(path):
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise Refused(f"{path}: is not what a model's folder has there ({problem})")
    if not isinstance(content, dict):
        raise Refused(f"{path}: is not what a model's folder has there (it holds no JSON object)")
    return content


def run(folder, out):
    tokenizer = read_json(tokenizer_to_hf.description_path(folder))
    own = read_json(folder / "config.json")
    program = os.environ.get("LOCKSTEP", "lockstep")
    converted = subprocess.run([program, "checkpoint", "convert", str(folder), str(out), "--to", "transformers"],
                               stdout=subprocess.PIPE, text=True)
    if converted.returncode != 0:
        sys.exit(converted.returncode)
    # What it says of a tokenizer that is missing does not count: it follows.
    print(converted.stdout.split("; no tokenizer is there: ")[0].rstrip("\n"))
    if tokenizer_to_hf.is_foreign(tokenizer):
        return
    config = read_json(out / "config.json")
    # weights_from_hf.py knows the dictionary by it.
    config["lockstep_dictionary_hash"] = own["dictionary_hash"]
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    for name in ["tokenizer.json", tokenizer["file"]]:
        shutil.copy(folder / name, out / f"lockstep-{name}")
    print(f"{out}: {add_tokenizer(folder, out, tokenizer['file'], own['n_positions'])}")


def add_tokenizer(folder, out, file, n_positions):
    """Returns how to get the tokenizer in Python."""
    try:
        tokenizer_to_hf.write(folder, out, n_positions)
    except tokenizer_to_hf.Unsupported as problem:
        line = (f'sentencepiece.SentencePieceProcessor(model_file="{out}/lockstep-{file}")' if file.endswith(".model")
                else "`lockstep` alone")
        return f"no tokenizer for transformers, as the model's {problem}; the same ids come from {line}"
    return f'the tokenizer is AutoTokenizer.from_pretrained("{out}")'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT")
    args = parser.parse_args()
    try:
        run(args.folder, args.out)
    except FileNotFoundError as missing:
        sys.exit(f"weights_to_hf.py: {missing.filename}: is missing; give LOCKSTEP the path of the program lockstep")
    except (Refused, OSError) as problem:
        sys.exit(f"weights_to_hf.py: {problem}")


if __name__ == "__main__":
    main()
