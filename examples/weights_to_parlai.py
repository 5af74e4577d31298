#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a ParlAI model of a Lockstep model folder that holds a transformer/generator.

    weights_to_parlai.py FOLDER MODEL

Writes MODEL, MODEL.opt and MODEL.dict, for `parlai eval_model -mf MODEL`, `interactive` or --init-model.
ParlAI is not needed, but these are:

    pip install torch safetensors
"""

import argparse
import json
import pathlib
import sys

from weights_from_parlai import Refused, sinusoids

GENERATION = {
    "inference": str, "beam-size": int, "beam-min-length": int, "beam-block-ngram": int, "beam-context-block-ngram": int,
    "beam-length-penalty": float, "topk": int, "topp": float, "temperature": float,
}
DATA = {"text-truncate": int, "label-truncate": int, "history-size": int, "delimiter": str}


def read_json(path):
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise Refused(f"{path}: is not that of a model folder ({problem})")
    if not isinstance(content, dict):
        raise Refused(f"{path}: is not that of a model folder (it holds no JSON object)")
    return content


def theirs_of(name, tensor):
    """ParlAI's tensors of one of Lockstep's."""
    module, part, end = name.rsplit(".", 2) if name.count(".") > 1 else ("", "", "")
    if "attention" not in module:
        return {name: tensor.clone()}
    if part == "out":
        return {f"{module}.out_lin.{end}": tensor.clone()}
    pieces = tensor.chunk(len(part))  # "qkv" or "kv" is several matrices, one below the other
    return {f"{module}.{letter}_lin.{end}": piece.clone() for letter, piece in zip(part, pieces)}


def convert(config, ours):
    import torch

    theirs = {"START": torch.tensor([1])}
    for name, tensor in ours.items():
        theirs.update(theirs_of(name, tensor.float()))
    for stack in ["encoder", "decoder"]:
        theirs[f"{stack}.embeddings.weight"] = theirs["embeddings.weight"]
        if config["positions"] == "sinusoidal":
            theirs[f"{stack}.position_embeddings.weight"] = sinusoids(config["n_positions"], config["embedding_size"])
    return theirs


def opt_of(config, tokenizer):
    same = ["variant", "activation", "embedding_size", "ffn_size", "n_heads", "n_encoder_layers", "n_decoder_layers", "n_positions"]
    opt = {name: config[name] for name in [*same, "dropout", "attention_dropout", "relu_dropout"]}
    opt.update({
        "model": "transformer/generator",
        "n_layers": config["n_encoder_layers"],
        "learn_positional_embeddings": config["positions"] == "learned",
        "embeddings_scale": config["embeddings_scale"] == "sqrt_dim",
        "n_segments": 0,
        "output_scaling": 1.0,
        "dict_tokenizer": "re",
        "dict_lower": tokenizer["letter_case"] == "lower",
    })
    defaults = config.get("defaults", {})
    for name, kind in {**GENERATION, **DATA}.items():
        if name in defaults:
            opt[name.replace("-", "_")] = kind(defaults[name])
    # Without them ParlAI cuts nothing, and fails on a text that is longer than the positions.
    for side in ["text", "label"]:
        opt.setdefault(f"{side}_truncate", config["n_positions"])
    return opt


def run(folder, model):
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    for path in [model, pathlib.Path(f"{model}.opt"), pathlib.Path(f"{model}.dict")]:
        if path.exists():
            raise Refused(f"{path}: is there already; name a new model")
    config, tokenizer = read_json(folder / "config.json"), read_json(folder / "tokenizer.json")
    if config.get("model") != "transformer/generator":
        raise Refused(f"{folder}: is a {config.get('model')}; ParlAI's transformer/generator is an encoder with a decoder")
    if config["activation"] not in ["relu", "gelu"]:
        raise Refused(f"{folder}: has the activation {config['activation']}, which ParlAI lacks")
    if tokenizer.get("tokenizer") != "re":
        raise Refused(f"{folder}: has the tokenizer {tokenizer.get('tokenizer')}; only re, ParlAI's own, can go there")
    if not (folder / "model.safetensors").exists():
        raise Refused(f"{folder}/model.safetensors: is missing; it comes with the first validation or the end of training")
    try:
        ours = load_file(folder / "model.safetensors")
    except SafetensorError as problem:
        raise Refused(f"{folder}/model.safetensors: is damaged ({problem}); copy the model again")
    theirs = convert(config, ours)
    model.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"model": theirs}, model)
    pathlib.Path(f"{model}.opt").write_text(json.dumps(opt_of(config, tokenizer), indent=4) + "\n")
    pathlib.Path(f"{model}.dict").write_bytes((folder / tokenizer["file"]).read_bytes())
    print(f"{model}: {len(theirs)} tensors, {model}.opt and {model}.dict")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("model", type=pathlib.Path, metavar="MODEL")
    args = parser.parse_args()
    try:
        run(args.folder, args.model)
    except ModuleNotFoundError as missing:
        sys.exit(f"weights_to_parlai.py: {missing.name} is missing: pip install torch safetensors")
    except (Refused, OSError) as problem:
        sys.exit(f"weights_to_parlai.py: {problem}")


if __name__ == "__main__":
    main()
