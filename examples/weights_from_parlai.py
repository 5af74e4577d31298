#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a Lockstep model folder of a model that ParlAI's transformer/generator trained.

    weights_from_parlai.py MODEL OUT

MODEL is ParlAI's --model-file: MODEL, MODEL.opt and MODEL.dict are read. OUT is a new folder, which eval,
generate, interactive and `train -mf OUT` or `--init-model OUT` take. ParlAI is not needed, but these are:

    pip install torch safetensors xxhash

docs/parlai-comparison.md tells more.
"""

import argparse
import json
import pathlib
import re
import sys

SPECIALS = ["__null__", "__start__", "__end__", "__unk__"]
MODELS = {"transformer/generator", "TransformerGeneratorAgent"}
INFERENCE = ["greedy", "beam", "topk", "nucleus"]
LETTERS = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


class Refused(Exception):
    """What is wrong with a request, in one line."""


def tell(note):
    print(f"note: {note}", file=sys.stderr)


def choose(value, choices, option):
    if value not in choices:
        raise Refused(f"--{option} {value} is not supported; it must be one of {', '.join(map(str, choices))}")
    return choices[value]


def read_opt(path):
    try:
        opt = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Refused(f"{path}: is missing; it holds the model's options and lies beside ParlAI's model file")
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise Refused(f"{path}: is not JSON; load and save the model once with a ParlAI of 2020 or later")
    if not isinstance(opt, dict):
        raise Refused(f"{path}: holds no options; is it that of a transformer/generator?")
    return opt


def unescape(text):
    return text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")


def read_dictionary(path):
    """Tokens with their counts in the order of their numbers, the special ones first as ParlAI has them."""
    counts = {token: 1000000003 - i for i, token in enumerate(SPECIALS)}
    try:
        text = path.read_text(encoding="utf-8", errors="ignore")
    except FileNotFoundError:
        raise Refused(f"{path}: is missing; it is ParlAI's dictionary and lies beside its model file")
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            continue
        token, _, count = line.rstrip("\r").partition("\t")
        token = unescape(token)
        if token.lower() in SPECIALS:
            continue
        if token in counts or not re.fullmatch(r"\d*", count):
            raise Refused(f"{path}:{number}: is not a new token and its count")
        counts[token] = int(count or 0)
    return counts


def defaults_of(opt):
    """What eval, generate and interactive take over, as the text of Lockstep's options."""
    cut = {side: opt.get(f"{side}_truncate") or -1 for side in ["text", "label"]}
    cut = {side: size if size > 0 else opt.get("truncate") or -1 for side, size in cut.items()}
    defaults = {f"{side}-truncate": size for side, size in cut.items() if size > 0}
    defaults["max-length"] = cut["label"] if cut["label"] > 0 else 256
    names = ["history_size", "delimiter", "beam_size", "beam_min_length", "beam_block_ngram", "beam_context_block_ngram"]
    names += ["beam_length_penalty", "topk", "topp", "temperature"]
    if opt.get("inference", "greedy") in INFERENCE:
        names.append("inference")
    else:
        tell(f"--inference {opt['inference']} is not supported; replies are greedy unless you choose")
        names.remove("beam_size")
    defaults.update({name.replace("_", "-"): opt[name] for name in names if opt.get(name) is not None})
    return {name: str(value) for name, value in defaults.items()}


def read_weights(path, trust):
    import torch

    try:
        states = torch.load(path, map_location="cpu", weights_only=not trust)
    except FileNotFoundError:
        raise Refused(f"{path}: is missing; give the path that --model-file had in ParlAI")
    except Exception as problem:
        first = (str(problem) or type(problem).__name__).splitlines()[0]
        advice = "" if trust else "; where it holds more than tensors and you trust its source, add --trust"
        raise Refused(f"{path}: cannot be read as ParlAI's model ({first}){advice}")
    model = states.get("model") if isinstance(states, dict) else None
    if not model:
        raise Refused(f"{path}: holds no 'model'; is it a file that ParlAI wrote?")
    return {name.removeprefix("module."): tensor for name, tensor in model.items()}


def check_supported(opt):
    model = str(opt.get("model", "")).split(":")[-1]
    if model not in MODELS:
        raise Refused(f"--model {opt.get('model')} is not supported; only transformer/generator is")
    choose(opt.get("dict_tokenizer", "re"), {"re": "re"}, "dict-tokenizer")
    for option, plain in {"n_segments": 0, "output_scaling": 1.0}.items():
        if opt.get(option, plain) != plain:
            raise Refused(f"--{option.replace('_', '-')} {opt[option]} is not supported; it must be {plain}")


def warn_of_data(opt):
    """Options that change the contexts, not the arithmetic."""
    for option in ["person_tokens", "history_add_global_end_token", "special_tok_lst", "history_reversed", "split_lines"]:
        if opt.get(option):
            name = option.replace("_", "-")
            tell(f"the model was trained with --{name} {opt[option]}; prepare the data of the same form")
    if opt.get("use_reply", "label") != "label":
        tell(f"the model was trained with --use-reply {opt['use_reply']}; here labels are a dialogue's history")


class Tensors:
    """ParlAI's tensors; each is taken once, so that what is left has no place in Lockstep."""

    def __init__(self, tensors, origin):
        self.left, self.origin = dict(tensors), origin

    def take(self, name):
        if name not in self.left:
            raise Refused(f"{self.origin}: lacks {name}")
        return self.left.pop(name).float()

    def joined(self, names):
        import torch

        return torch.cat([self.take(name) for name in names]).contiguous()

    def layers(self, stack):
        numbers = {int(name.split(".")[2]) for name in self.left if name.startswith(f"{stack}.layers.")}
        return len(numbers)


def sinusoids(positions, width):
    import torch

    columns = torch.arange(width // 2, dtype=torch.float64)
    angles = torch.arange(positions, dtype=torch.float64)[:, None] / 10000 ** (2 * columns / width)
    return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(positions, 2 * (width // 2)).float()


def take_attention(theirs, ours, source, target, parts):
    """`parts` is what Lockstep keeps in one matrix: {"qkv": "qkv"}, or {"q": "q", "kv": "kv"}."""
    for end in ["weight", "bias"]:
        for name, letters in parts.items():
            ours[f"{target}.{name}.{end}"] = theirs.joined([f"{source}.{letter}_lin.{end}" for letter in letters])
        ours[f"{target}.out.{end}"] = theirs.take(f"{source}.out_lin.{end}")


def take_plain(theirs, ours, names):
    for name in names:
        for end in ["weight", "bias"]:
            ours[f"{name}.{end}"] = theirs.take(f"{name}.{end}")


def take_stack(theirs, ours, stack, config):
    for layer in range(config[f"n_{stack}_layers"]):
        at = f"{stack}.layers.{layer}"
        if stack == "encoder":
            take_attention(theirs, ours, f"{at}.attention", f"{at}.attention", {"qkv": "qkv"})
        else:
            take_attention(theirs, ours, f"{at}.self_attention", f"{at}.self_attention", {"qkv": "qkv"})
            take_attention(theirs, ours, f"{at}.encoder_attention", f"{at}.encoder_attention", {"q": "q", "kv": "kv"})
        norms = ["norm1", "norm2"] + (["norm3"] if stack == "decoder" else [])
        take_plain(theirs, ours, [f"{at}.{name}" for name in ["ffn.lin1", "ffn.lin2", *norms]])
    if config["variant"] != "aiayn":
        take_plain(theirs, ours, [f"{stack}.norm_embeddings"])


def take_positions(theirs, ours, stack, config):
    import torch

    name = f"{stack}.position_embeddings.weight"
    table = theirs.take(name)
    if config["positions"] == "learned":
        ours[name] = table
    elif not torch.allclose(table, sinusoids(*table.shape), atol=2e-3):
        raise Refused(f"{theirs.origin}: {name} is learned, but the .opt has no --learn-positional-embeddings")


def take_embeddings(theirs, ours):
    table = theirs.take("embeddings.weight")
    for stack in ["encoder", "decoder"]:
        if not (theirs.take(f"{stack}.embeddings.weight") == table).all():
            raise Refused(f"{theirs.origin}: {stack}.embeddings.weight is a table of its own; Lockstep has one for all")
    ours["embeddings.weight"] = table


def configure(opt, theirs):
    table = theirs.left.get("embeddings.weight")
    positions = theirs.left.get("encoder.position_embeddings.weight")
    if table is None or positions is None:
        raise Refused(f"{theirs.origin}: lacks embeddings.weight or encoder.position_embeddings.weight")
    return {
        "model": "transformer/generator",
        "variant": choose(opt.get("variant", "aiayn"), {v: v for v in ["aiayn", "prelayernorm", "xlm", "bart"]}, "variant"),
        "activation": choose(opt.get("activation", "relu"), {a: a for a in ["relu", "gelu"]}, "activation"),
        "positions": "learned" if opt.get("learn_positional_embeddings") else "sinusoidal",
        "embeddings_scale": "sqrt_dim" if opt.get("embeddings_scale", True) else "none",
        "vocabulary_size": table.shape[0],
        "embedding_size": table.shape[1],
        "ffn_size": opt["ffn_size"],
        "n_heads": opt["n_heads"],
        "n_encoder_layers": theirs.layers("encoder"),
        "n_decoder_layers": theirs.layers("decoder"),
        "n_positions": positions.shape[0],
        "dropout": opt.get("dropout", 0.0),
        "attention_dropout": opt.get("attention_dropout", 0.0),
        "relu_dropout": opt.get("relu_dropout", 0.0),
        "label_smoothing": 0.0,
        "excluded_token": 1,
    }


def convert(opt, theirs):
    config, ours = configure(opt, theirs), {}
    for stack in ["encoder", "decoder"]:
        take_positions(theirs, ours, stack, config)
        take_stack(theirs, ours, stack, config)
    take_embeddings(theirs, ours)
    theirs.left.pop("START", None)
    if theirs.left:
        raise Refused(f"{theirs.origin}: {sorted(theirs.left)[0]} has no place in Lockstep")
    return config, ours


def pad_dictionary(counts, rows, opt, path):
    """A model of --fp16 has rows up to a multiple of 8, whose tokens ParlAI adds when it starts."""
    if opt.get("fp16") or opt.get("force_fp16_tokens"):
        form = "__fp16_pad_{}__" if opt.get("dict_lower") else "__FP16_PAD_{}__"
        for i in range(-len(counts) % 8):
            counts[form.format(i)] = 1
    if len(counts) != rows:
        raise Refused(f"{path}: has {len(counts)} tokens, but the model has {rows} embeddings")


def write_dictionary(folder, counts, lower):
    """Writes dictionary.txt and tokenizer.json; returns the dictionary's hash."""
    import xxhash

    lines, number = [], 1 if lower else 0
    for token, count in counts.items():
        number = xxhash.xxh3_64_intdigest(token.encode(), seed=number)
        lines.append("".join(LETTERS.get(letter, letter) for letter in token) + f"\t{count}\n")
    (folder / "dictionary.txt").write_text("".join(lines), encoding="utf-8", newline="")
    tokenizer = {
        "tokenizer": "re",
        "file": "dictionary.txt",
        "letter_case": "lower" if lower else "keep",
        "hash": f"{number:016x}",
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, indent=2) + "\n")
    return tokenizer["hash"]


def run(model, out, trust):
    from safetensors.torch import save

    if out.exists():
        raise Refused(f"{out}: is there already; name a new folder")
    opt = read_opt(pathlib.Path(f"{model}.opt"))
    check_supported(opt)
    dictionary = pathlib.Path(f"{model}.dict")
    counts = read_dictionary(dictionary)
    config, weights = convert(opt, Tensors(read_weights(model, trust), str(model)))
    pad_dictionary(counts, config["vocabulary_size"], opt, dictionary)
    warn_of_data(opt)
    out.mkdir(parents=True)
    config["dictionary_hash"] = write_dictionary(out, counts, bool(opt.get("dict_lower")))
    config["defaults"] = defaults_of(opt)
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (out / "model.safetensors").write_bytes(save(weights, {"format": "pt"}))
    print(f"{out}: {config['variant']} with {sum(w.numel() for w in weights.values())} weights, {len(counts)} tokens")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT")
    parser.add_argument("--trust", action="store_true", help="run code that MODEL may hold; only for files of a known source")
    args = parser.parse_args()
    try:
        run(args.model, args.out, args.trust)
    except ModuleNotFoundError as missing:
        sys.exit(f"weights_from_parlai.py: {missing.name} is missing: pip install torch safetensors xxhash")
    except KeyError as missing:
        sys.exit(f"weights_from_parlai.py: {args.model}.opt: lacks {missing}; is it that of a transformer/generator?")
    except (Refused, OSError) as problem:
        sys.exit(f"weights_from_parlai.py: {problem}")


if __name__ == "__main__":
    main()
