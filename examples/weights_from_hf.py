#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a Lockstep model folder of a GPT-2 of Hugging Face's transformers, to train on from with --init-model.

    weights_from_hf.py MODEL DATA OUT

MODEL is a folder with config.json and model.safetensors, DATA what `lockstep prepare` wrote with a dictionary of its own. Layers
and positions are taken over while the table of embeddings starts anew, for the dictionary of DATA. Only what weights_to_hf.py
made keeps its table, too. With the tokenizer of MODEL no conversion is needed: `lockstep prepare --like MODEL`, `train
--init-model MODEL`.

    pip install numpy safetensors
"""

import argparse
import json
import pathlib
import shutil
import sys

from weights_to_hf import Refused, read_json

MODULES = {
    "self_attention.qkv": "attn.c_attn",
    "self_attention.out": "attn.c_proj",
    "ffn.lin1": "mlp.c_fc",
    "ffn.lin2": "mlp.c_proj",
    "norm1": "ln_1",
    "norm2": "ln_2",
}
TABLES = {
    "embeddings.weight": "transformer.wte.weight",
    "decoder.position_embeddings.weight": "transformer.wpe.weight",
    "decoder.norm_embeddings.weight": "transformer.ln_f.weight",
    "decoder.norm_embeddings.bias": "transformer.ln_f.bias",
}


def names(layers):
    """Lockstep's name, transformers' name, and whether its matrix lies on its side, of each tensor of a gpt2."""
    for ours, theirs in TABLES.items():
        yield ours, theirs, False
    for layer in range(layers):
        for ours, theirs in MODULES.items():
            for end in ["weight", "bias"]:
                turned = end == "weight" and "." in ours
                yield f"decoder.layers.{layer}.{ours}.{end}", f"transformer.h.{layer}.{theirs}.{end}", turned


def choose(theirs, name, only):
    if theirs.get(name, only) != only:
        raise Refused(f"config.json: {name} {theirs[name]} is not supported; it must be {only}")


def config_of(theirs, vocabulary, dictionary_hash):
    if theirs.get("model_type") != "gpt2":
        raise Refused(f"config.json: model_type {theirs.get('model_type')} is not supported; only gpt2 is")
    choose(theirs, "activation_function", "gelu_new")
    choose(theirs, "layer_norm_epsilon", 1e-5)
    choose(theirs, "scale_attn_weights", True)
    choose(theirs, "scale_attn_by_inverse_layer_idx", False)
    choose(theirs, "tie_word_embeddings", True)
    return {
        "model": "gpt2",
        "variant": "prelayernorm",
        "activation": "gelu_tanh",
        "positions": "learned",
        "embeddings_scale": "none",
        "vocabulary_size": vocabulary,
        "embedding_size": theirs["n_embd"],
        "ffn_size": theirs.get("n_inner") or 4 * theirs["n_embd"],
        "n_heads": theirs["n_head"],
        "n_encoder_layers": 0,
        "n_decoder_layers": theirs["n_layer"],
        "n_positions": theirs["n_positions"],
        "dropout": theirs.get("resid_pdrop", 0.1),
        "attention_dropout": theirs.get("attn_pdrop", 0.1),
        "relu_dropout": 0.0,
        "label_smoothing": 0.0,
        "dictionary_hash": dictionary_hash,
    }


def taken(weights, here, there, turned):
    tensor = weights.get(there, weights.get(there.removeprefix("transformer.")))
    if tensor is None:
        raise Refused(f"model.safetensors: lacks {there}")
    return (tensor.T if turned else tensor).astype("float32").copy()


def run(model, data, out):
    import numpy
    from safetensors.numpy import load_file, save

    if out.exists():
        raise Refused(f"{out}: is there already; name a new folder")
    if (data / "lockstep_tokenizer.json").exists():
        raise Refused(f"{data}: has a tokenizer from transformers; its model needs no conversion: train --init-model {model}")
    theirs = read_json(model / "config.json")
    tokenizer, vocabulary = read_json(data / "tokenizer.json"), read_json(data / "dataset.json")["vocabulary"]
    config = config_of(theirs, vocabulary, tokenizer["hash"])
    if not (model / "model.safetensors").exists():
        raise Refused(f"{model}/model.safetensors: is missing; save_pretrained() of transformers writes it")
    weights = load_file(model / "model.safetensors")
    ours = {here: taken(weights, here, there, turned) for here, there, turned in names(theirs["n_layer"])}
    if theirs.get("lockstep_dictionary_hash") == tokenizer["hash"]:
        told = "its table of embeddings, too"
    else:
        table = numpy.random.default_rng(1).normal(0, 0.02, (vocabulary, theirs["n_embd"]))
        ours["embeddings.weight"] = table.astype("float32")
        told = f"a new table of embeddings for the {vocabulary} tokens of {data}"
    out.mkdir(parents=True)
    (out / "model.safetensors").write_bytes(save(ours, {"format": "pt"}))
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    for name in ["tokenizer.json", tokenizer["file"]]:
        shutil.copy(data / name, out / name)
    print(f"{out}: {theirs['n_layer']} layers and positions of {model}, {told}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["model", "data", "out"]:
        parser.add_argument(name, type=pathlib.Path, metavar=name.upper())
    args = parser.parse_args()
    try:
        run(args.model, args.data, args.out)
    except ModuleNotFoundError as missing:
        sys.exit(f"weights_from_hf.py: {missing.name} is missing: pip install numpy safetensors")
    except (Refused, OSError) as problem:
        sys.exit(f"weights_from_hf.py: {problem}")


if __name__ == "__main__":
    main()
