#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a model of Hugging Face's transformers of a Lockstep model folder that holds a model of one of its families:
gpt2, llama, mistral, qwen2, qwen3, bart, blenderbot or blenderbot-small.

    weights_to_hf.py FOLDER OUT

Writes config.json and model.safetensors for AutoModelForCausalLM (AutoModelForSeq2SeqLM).from_pretrained(OUT), tokenizer.json and tokenizer_config.json for
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


CLASSES = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM",
           "qwen3": "Qwen3ForCausalLM", "bart": "BartForConditionalGeneration", "blenderbot": "BlenderbotForConditionalGeneration",
           "blenderbot-small": "BlenderbotSmallForConditionalGeneration"}
SEQ2SEQ = {"bart", "blenderbot", "blenderbot-small"}
LAYER = {
    "norm1": ["input_layernorm"],
    "norm2": ["post_attention_layernorm"],
    "self_attention.qkv": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    "self_attention.out": ["self_attn.o_proj"],
    "self_attention.q_norm": ["self_attn.q_norm"],
    "self_attention.k_norm": ["self_attn.k_norm"],
    "ffn.lin1": ["mlp.gate_proj", "mlp.up_proj"],
    "ffn.lin2": ["mlp.down_proj"],
}
LLAMA_TABLES = {
    "embeddings.weight": "model.embed_tokens.weight",
    "decoder.norm_embeddings.weight": "model.norm.weight",
    "lm_head.weight": "lm_head.weight",
}
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
    """Lockstep's name, transformers' name, and whether its matrix lies on its side, of each tensor."""
    for ours, theirs in TABLES.items():
        yield ours, theirs, False
    for layer in range(layers):
        for ours, theirs in MODULES.items():
            for end in ["weight", "bias"]:
                turned = end == "weight" and "." in ours
                yield f"decoder.layers.{layer}.{ours}.{end}", f"transformer.h.{layer}.{theirs}.{end}", turned


def row_counts(config, ours):
    """How many rows of a matrix of ours each of transformers' has."""
    heads, width = config["n_heads"], config["head_size"] or config["embedding_size"] // config["n_heads"]
    if ours == "self_attention.qkv":
        return [heads * width] + 2 * [(config["n_kv_heads"] or heads) * width]
    return 2 * [config["ffn_size"]] if ours == "ffn.lin1" else [None]


def gpt2_tensors(config, ours):
    return {there: (ours[here].T.copy() if turned else ours[here]) for here, there, turned in names(config["n_decoder_layers"])}


def llama_tensors(config, ours):
    theirs = {there: ours[here] for here, there in LLAMA_TABLES.items() if here in ours}
    for layer in range(config["n_decoder_layers"]):
        for here, there in LAYER.items():
            for end in ["weight", "bias"]:
                whole = ours.get(f"decoder.layers.{layer}.{here}.{end}")
                first = 0
                for name, rows in zip(there, row_counts(config, here)):
                    if whole is None:
                        break
                    last = first + (rows or len(whole))
                    theirs[f"model.layers.{layer}.{name}.{end}"] = whole[first:last].copy()
                    first = last
    return theirs


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


def llama_config(config):
    yes = {"yes": True, "no": False}
    theirs = {
        "torch_dtype": "float32",
        "hidden_act": "silu",
        "hidden_size": config["embedding_size"],
        "intermediate_size": config["ffn_size"],
        "num_hidden_layers": config["n_decoder_layers"],
        "num_attention_heads": config["n_heads"],
        "num_key_value_heads": config["n_kv_heads"] or config["n_heads"],
        "max_position_embeddings": config["n_positions"],
        "attention_dropout": config["attention_dropout"],
        "rms_norm_eps": config["norm_epsilon"],
        "tie_word_embeddings": not yes[config["own_head"]],
        "rope_theta": config["rope_theta"],
        "rope_scaling": rotary_scaling(config),
    }
    kind = config["model"]
    if kind != "qwen2" or config["head_size"]:
        theirs["head_dim"] = config["head_size"] or config["embedding_size"] // config["n_heads"]
    if kind in ("llama", "qwen3"):
        theirs["attention_bias"] = yes[config["qkv_bias"]]
    if kind == "llama":
        theirs["mlp_bias"] = yes[config["ffn_bias"]]
    if kind == "mistral":
        theirs["sliding_window"] = config["window"] or None
    if kind in ("qwen2", "qwen3"):
        theirs |= {"use_sliding_window": config["window"] > 0, "sliding_window": config["window"] or None, "max_window_layers":
                   0 if config["window"] else config["n_decoder_layers"]}
    return theirs


def rotary_scaling(config):
    kind = config["rope_scaling"]
    if kind == "none":
        return None
    values = {"rope_type": kind, "factor": config["rope_factor"]}
    if kind == "linear":
        return values
    values["original_max_position_embeddings"] = int(config["rope_original_positions"])
    if kind == "llama3":
        return values | {"low_freq_factor": config["rope_low_frequency_factor"], "high_freq_factor": config["rope_high_frequency_factor"]}
    return values | {"beta_fast": config["rope_beta_fast"], "beta_slow": config["rope_beta_slow"],
                     "attention_factor": config["rope_attention_factor"], "truncate": config["rope_whole_bounds"] == "yes"}


def read_json(path):
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise Refused(f"{path}: is not what a model's folder has there ({problem})")
    if not isinstance(content, dict):
        raise Refused(f"{path}: is not what a model's folder has there (it holds no JSON object)")
    return content


def gpt2_config(config):
    return {
        "activation_function": "gelu_new",
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
    }


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


def form_of(config):
    """What makes the tensors and the keys of a family."""
    if config["model"] == "gpt2":
        return gpt2_tensors, gpt2_config
    return (seq2seq_tensors, seq2seq_config) if config["model"] in SEQ2SEQ else (llama_tensors, llama_config)


def generation_keys(config, tokenizer, special):
    if config["model"] not in SEQ2SEQ:
        return {}
    keys = {"decoder_start_token_id": special["start"], "forced_eos_token_id": special["ends"][0]}
    return keys if tokenizer.get("reply_begin") is None else keys | {"forced_bos_token_id": tokenizer["reply_begin"]}


def begin_of(special):
    """The tokenizers of Lockstep have one token for both."""
    return special["start"] if special["begin"] is None else special["begin"]


def config_of(config, tokenizer, special):
    ends = special["ends"]
    shape = form_of(config)[1]
    return {
        "architectures": [CLASSES[config["model"]]],
        "model_type": config["model"],
        "vocab_size": config["vocabulary_size"],
        **shape(config),
        "pad_token_id": special["null"],
        "bos_token_id": begin_of(special),
        "eos_token_id": ends[0] if len(ends) == 1 else ends,
        **generation_keys(config, tokenizer, special),
        "lockstep_dictionary_hash": config["dictionary_hash"],
    }


def run(folder, out):
    from safetensors import SafetensorError
    from safetensors.numpy import load_file, save

    config, tokenizer = read_json(folder / "config.json"), read_json(tokenizer_to_hf.description_path(folder))
    if config.get("model") not in CLASSES:
        raise Refused(f"{folder}: is a {config.get('model')}; only these become models of transformers: {', '.join(CLASSES)}")
    if config["model"] == "gpt2" and config["activation"] != "gelu_tanh":
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
    theirs = form_of(config)[0](config, ours)
    out.mkdir(parents=True)
    (out / "model.safetensors").write_bytes(save(theirs, {"format": "pt"}))
    special = tokenizer.get("special_tokens", {"null": 0, "start": 1, "begin": None, "ends": [2], "unk": 3})
    (out / "config.json").write_text(json.dumps(config_of(config, tokenizer, special), indent=2) + "\n")
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
