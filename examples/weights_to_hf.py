#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a GPT2LMHeadModel of Hugging Face's transformers of a Lockstep model folder that holds a gpt2.

    weights_to_hf.py FOLDER OUT

Writes config.json and model.safetensors for GPT2LMHeadModel.from_pretrained(OUT), tokenizer.json and tokenizer_config.json for
AutoTokenizer.from_pretrained(OUT), and Lockstep's own dictionary beside them. The tokenizer of a model that came from transformers
goes back byte for byte. transformers is not needed, but these are:

    pip install numpy safetensors
"""

import argparse
import json
import pathlib
import shutil
import sys

import tokenizer_to_hf

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


class Refused(Exception):
    """What is wrong with a request, in one line."""


def names(layers):
    """Lockstep's name, transformers' name, and whether its matrix lies on its side, of each tensor."""
    for ours, theirs in TABLES.items():
        yield ours, theirs, False
    for layer in range(layers):
        for ours, theirs in MODULES.items():
            for end in ["weight", "bias"]:
                turned = end == "weight" and "." in ours
                yield f"decoder.layers.{layer}.{ours}.{end}", f"transformer.h.{layer}.{theirs}.{end}", turned


def read_json(path):
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise Refused(f"{path}: is not what a model's folder has there ({problem})")
    if not isinstance(content, dict):
        raise Refused(f"{path}: is not what a model's folder has there (it holds no JSON object)")
    return content


def config_of(config, special):
    ends = special["ends"]
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "vocab_size": config["vocabulary_size"],
        "n_positions": config["n_positions"],
        "n_embd": config["embedding_size"],
        "n_inner": config["ffn_size"],
        "n_layer": config["n_decoder_layers"],
        "n_head": config["n_heads"],
        "embd_pdrop": config["dropout"],
        "resid_pdrop": config["dropout"],
        "attn_pdrop": config["attention_dropout"],
        "layer_norm_epsilon": 1e-5,
        "tie_word_embeddings": True,
        "pad_token_id": special["null"],
        "bos_token_id": special["begin"] if special["start"] is None else special["start"],
        "eos_token_id": ends[0] if len(ends) == 1 else ends,
        "lockstep_dictionary_hash": config["dictionary_hash"],
    }


def run(folder, out):
    from safetensors import SafetensorError
    from safetensors.numpy import load_file, save

    config, tokenizer = read_json(folder / "config.json"), read_json(tokenizer_to_hf.description_path(folder))
    if config.get("model") != "gpt2":
        raise Refused(f"{folder}: is a {config.get('model')}; only a gpt2 becomes a GPT2LMHeadModel")
    if config["activation"] != "gelu_tanh":
        raise Refused(f"{folder}: has the activation {config['activation']}; GPT2LMHeadModel wants gelu_tanh")
    weights = folder / "model.safetensors"
    if not weights.exists():
        raise Refused(f"{weights}: is missing; it comes with the first validation or the end of training")
    if out.exists():
        raise Refused(f"{out}: is there already; name a new folder")
    try:
        ours = load_file(weights)
    except SafetensorError as problem:
        raise Refused(f"{weights}: is damaged ({problem}); copy the model again")
    theirs = {there: (ours[here].T.copy() if turned else ours[here]) for here, there, turned in names(config["n_decoder_layers"])}
    out.mkdir(parents=True)
    (out / "model.safetensors").write_bytes(save(theirs, {"format": "pt"}))
    special = tokenizer.get("special_tokens", {"null": 0, "start": 1, "begin": None, "ends": [2], "unk": 3})
    (out / "config.json").write_text(json.dumps(config_of(config, special), indent=2) + "\n")
    if not tokenizer_to_hf.is_foreign(tokenizer):
        for name in ["tokenizer.json", tokenizer["file"]]:
            shutil.copy(folder / name, out / f"lockstep-{name}")
    start = "there is no start token" if special["start"] is None else f"start is token {special['start']}"
    print(f"{out}: {len(theirs)} tensors; {start}, end is token {special['ends'][0]}")
    print(f"{out}: {add_tokenizer(folder, out, tokenizer['file'], config['n_positions'])}")


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
    except ModuleNotFoundError as missing:
        sys.exit(f"weights_to_hf.py: {missing.name} is missing: pip install numpy safetensors")
    except (Refused, OSError) as problem:
        sys.exit(f"weights_to_hf.py: {problem}")


if __name__ == "__main__":
    main()
