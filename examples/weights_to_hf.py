#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a model of Hugging Face's transformers of a Lockstep model folder that holds a model of one of its families:
gpt2, llama, mistral, qwen2, qwen3, bart, blenderbot or blenderbot-small.

    weights_to_hf.py FOLDER OUT

`lockstep checkpoint convert FOLDER OUT --to transformers` does this for all models whose tokenizer came from transformers, and a
run that began from one writes such a folder by itself. This script calls it, and for models with a tokenizer of Lockstep's own
adds tokenizer.json and tokenizer_config.json for AutoTokenizer.from_pretrained(OUT) and Lockstep's own dictionary beside them. It
needs nothing but Python and `lockstep`, which the environment variable LOCKSTEP names if it is not on the PATH.

bart, blenderbot and blenderbot-small are written by the script itself, without `lockstep`. For these it needs:

    pip install numpy safetensors
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
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


CLASSES = {"bart": "BartForConditionalGeneration", "blenderbot": "BlenderbotForConditionalGeneration",
           "blenderbot-small": "BlenderbotSmallForConditionalGeneration"}
SEQ2SEQ_LAYERS = {
    "encoder": {
        "attention.qkv": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
        "attention.out": ["self_attn.out_proj"],
        "norm1": ["self_attn_layer_norm"],
        "ffn.lin1": ["fc1"],
        "ffn.lin2": ["fc2"],
        "norm2": ["final_layer_norm"],
    },
    "decoder": {
        "self_attention.qkv": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
        "self_attention.out": ["self_attn.out_proj"],
        "norm1": ["self_attn_layer_norm"],
        "encoder_attention.q": ["encoder_attn.q_proj"],
        "encoder_attention.kv": ["encoder_attn.k_proj", "encoder_attn.v_proj"],
        "encoder_attention.out": ["encoder_attn.out_proj"],
        "norm2": ["encoder_attn_layer_norm"],
        "ffn.lin1": ["fc1"],
        "ffn.lin2": ["fc2"],
        "norm3": ["final_layer_norm"],
    },
}


class Refused(Exception):
    """What is wrong with a request, in one line."""


def names(layers):
    """Lockstep's name, transformers' name, and whether its matrix lies on its side, of each tensor of a gpt2."""
    for ours, theirs in TABLES.items():
        yield ours, theirs, False
    for layer in range(layers):
        for ours, theirs in MODULES.items():
            for end in ["weight", "bias"]:
                turned = end == "weight" and "." in ours
                yield f"decoder.layers.{layer}.{ours}.{end}", f"transformer.h.{layer}.{theirs}.{end}", turned


def seq2seq_tensors(config, ours):
    """Matrices that are one here have equal parts."""
    import numpy

    norm = "layer_norm" if config["model"] == "blenderbot" else "layernorm_embedding"
    theirs = {"model.shared.weight": ours["embeddings.weight"],
              "final_logits_bias": numpy.zeros((1, config["vocabulary_size"]), "float32")}
    for stack, modules in SEQ2SEQ_LAYERS.items():
        theirs[f"model.{stack}.embed_positions.weight"] = ours[f"{stack}.position_embeddings.weight"]
        for end in ["weight", "bias"]:
            theirs[f"model.{stack}.{norm}.{end}"] = ours[f"{stack}.norm_embeddings.{end}"]
            for layer in range(config[f"n_{stack}_layers"]):
                for here, there in modules.items():
                    parts = numpy.split(ours[f"{stack}.layers.{layer}.{here}.{end}"], len(there))
                    theirs |= {f"model.{stack}.layers.{layer}.{name}.{end}": part.copy() for name, part in zip(there, parts)}
    return theirs


def read_json(path):
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise Refused(f"{path}: is not what a model's folder has there ({problem})")
    if not isinstance(content, dict):
        raise Refused(f"{path}: is not what a model's folder has there (it holds no JSON object)")
    return content


def seq2seq_config(config):
    theirs = {
        "torch_dtype": "float32",
        "is_encoder_decoder": True,
        "d_model": config["embedding_size"],
        "max_position_embeddings": config["n_positions"],
        "activation_function": config["activation"],
        "scale_embedding": config["embeddings_scale"] == "sqrt_dim",
        "dropout": config["dropout"],
        "attention_dropout": config["attention_dropout"],
        "activation_dropout": config["relu_dropout"],
        "tie_word_embeddings": True,
    }
    for stack in SEQ2SEQ_LAYERS:
        theirs |= {f"{stack}_layers": config[f"n_{stack}_layers"], f"{stack}_attention_heads": config["n_heads"],
                   f"{stack}_ffn_dim": config["ffn_size"]}
    return theirs


def run_seq2seq(folder, out, config, tokenizer):
    """Encoder-decoders: their folders have Lockstep's form alone."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file, save

    weights = folder / "model.safetensors"
    if not weights.exists():
        raise Refused(f"{weights}: is missing; it comes with the first validation or the end of training")
    if out.exists():
        raise Refused(f"{out}: is there already; name a new folder")
    try:
        ours = load_file(weights)
    except SafetensorError as problem:
        raise Refused(f"{weights}: is damaged ({problem}); copy the model again")
    theirs = seq2seq_tensors(config, ours)
    special = tokenizer.get("special_tokens", {"null": 0, "start": 1, "begin": None, "ends": [2], "unk": 3})
    ends = special["ends"]
    keys = {
        "architectures": [CLASSES[config["model"]]],
        "model_type": config["model"],
        "vocab_size": config["vocabulary_size"],
        **seq2seq_config(config),
        "pad_token_id": special["null"],
        "bos_token_id": special["start"] if special["begin"] is None else special["begin"],
        "eos_token_id": ends[0] if len(ends) == 1 else ends,
        "decoder_start_token_id": special["start"],
        "forced_eos_token_id": ends[0],
        "lockstep_dictionary_hash": config["dictionary_hash"],
    }
    if tokenizer.get("reply_begin") is not None:
        keys["forced_bos_token_id"] = tokenizer["reply_begin"]
    out.mkdir(parents=True)
    (out / "model.safetensors").write_bytes(save(theirs, {"format": "pt"}))
    (out / "config.json").write_text(json.dumps(keys, indent=2) + "\n")
    if not tokenizer_to_hf.is_foreign(tokenizer):
        for name in ["tokenizer.json", tokenizer["file"]]:
            shutil.copy(folder / name, out / f"lockstep-{name}")
    print(f"{out}: {len(theirs)} tensors; {add_tokenizer(folder, out, tokenizer['file'], config['n_positions'])}")


def run(folder, out):
    tokenizer = read_json(tokenizer_to_hf.description_path(folder))
    own = read_json(folder / "config.json")
    if own.get("model") in CLASSES:
        return run_seq2seq(folder, out, own, tokenizer)
    program = os.environ.get("LOCKSTEP", "lockstep")
    converted = subprocess.run([program, "checkpoint", "convert", str(folder), str(out), "--to", "transformers"])
    if converted.returncode != 0:
        sys.exit(converted.returncode)
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
    except ModuleNotFoundError as missing:
        sys.exit(f"weights_to_hf.py: {missing.name} is missing: pip install numpy safetensors")
    except FileNotFoundError as missing:
        sys.exit(f"weights_to_hf.py: {missing.filename}: is missing; give LOCKSTEP the path of the program lockstep")
    except (Refused, OSError) as problem:
        sys.exit(f"weights_to_hf.py: {problem}")


if __name__ == "__main__":
    main()
