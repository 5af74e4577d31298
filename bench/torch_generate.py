#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times replies of transformers' generate with its KV cache, from the weights of a Lockstep model: the peer of bench_generate.

    pip install torch safetensors transformers
    torch_generate.py --model FOLDER --contexts contexts.json --beam-size 4 --batch 64 --tokens 32

A gpt2 becomes a GPT2LMHeadModel. A transformer/generator of the variant aiayn with learned positions becomes a
MarianMTModel, which has the same arithmetic. `bench_generate --contexts-out` writes the contexts. Every reply has
exactly --tokens tokens. Prints one JSON line with bench_generate's names. Set OMP_NUM_THREADS to the cores to use.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import torch
from safetensors.torch import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples"))
import weights_from_hf  # noqa: E402

PAD, START, END = 0, 1, 2


def gpt2(config, weights):
    from transformers import GPT2Config, GPT2LMHeadModel

    rates = {rate: 0.0 for rate in ("embd_pdrop", "resid_pdrop", "attn_pdrop")}
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=config["vocabulary_size"], n_positions=config["n_positions"], n_embd=config["embedding_size"],
        n_inner=config["ffn_size"], n_layer=config["n_decoder_layers"], n_head=config["n_heads"], pad_token_id=PAD,
        bos_token_id=START, eos_token_id=END, **rates))
    layout = weights_from_hf.names(config["n_decoder_layers"])
    return model, {there: weights[here].T if turned else weights[here] for here, there, turned in layout}


def stack(weights, config, side):
    """Yields Marian's name and the tensor, for each tensor of the encoder or the decoder."""
    yield f"model.{side}.embed_positions.weight", weights[f"{side}.position_embeddings.weight"]
    attentions = {"attention": "self_attn"} if side == "encoder" else {"self_attention": "self_attn", "encoder_attention": "encoder_attn"}
    norms = ["self_attn_layer_norm", "final_layer_norm"] if side == "encoder" else [
        "self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"]
    for layer in range(config[f"n_{side}_layers"]):
        ours, theirs = f"{side}.layers.{layer}", f"model.{side}.layers.{layer}"
        for end in ("weight", "bias"):
            for here, there in attentions.items():
                joined = ("q", "k", "v") if here != "encoder_attention" else ("k", "v")
                parts = weights[f"{ours}.{here}.{''.join(joined)}.{end}"].chunk(len(joined))
                for name, part in zip(joined, parts):
                    yield f"{theirs}.{there}.{name}_proj.{end}", part
                if here == "encoder_attention":
                    yield f"{theirs}.{there}.q_proj.{end}", weights[f"{ours}.{here}.q.{end}"]
                yield f"{theirs}.{there}.out_proj.{end}", weights[f"{ours}.{here}.out.{end}"]
            for number, name in enumerate(norms, 1):
                yield f"{theirs}.{name}.{end}", weights[f"{ours}.norm{number}.{end}"]
            for number in (1, 2):
                yield f"{theirs}.fc{number}.{end}", weights[f"{ours}.ffn.lin{number}.{end}"]


def marian(config, weights):
    from transformers import MarianConfig, MarianMTModel

    if config["variant"] != "aiayn" or config["positions"] != "learned":
        sys.exit("torch_generate.py: only the variant aiayn with learned positions becomes a MarianMTModel")
    model = MarianMTModel(MarianConfig(
        vocab_size=config["vocabulary_size"], d_model=config["embedding_size"], max_position_embeddings=config["n_positions"],
        encoder_layers=config["n_encoder_layers"], decoder_layers=config["n_decoder_layers"],
        encoder_ffn_dim=config["ffn_size"], decoder_ffn_dim=config["ffn_size"],
        encoder_attention_heads=config["n_heads"], decoder_attention_heads=config["n_heads"],
        activation_function={"gelu_tanh": "gelu_new"}.get(config["activation"], config["activation"]),
        scale_embedding=config["embeddings_scale"] == "sqrt_dim", pad_token_id=PAD, decoder_start_token_id=START,
        eos_token_id=END, forced_eos_token_id=None))
    named = {"model.shared.weight": weights["embeddings.weight"]}
    for side in ("encoder", "decoder"):
        named.update(stack(weights, config, side))
    return model, named


def load(folder):
    """Returns the model with the folder's weights, and whether it is a gpt2."""
    config, weights = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")
    model, named = (gpt2 if config["model"] == "gpt2" else marian)(config, weights)
    unknown = set(model.load_state_dict(named, strict=False).unexpected_keys)
    left = {name for name, _ in model.named_parameters()} - set(named)
    if unknown or left:
        sys.exit(f"torch_generate.py: {folder}: transformers' model has other tensors: {sorted(unknown | left)[:5]}")
    model.tie_weights()
    return model.eval(), config["model"] == "gpt2"


def padded(contexts, decoder_only):
    """Returns the ids and their mask. A decoder continues its context and START, so it is padded on the left."""
    rows = [[*context, START] if decoder_only else context for context in contexts]
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), PAD)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for i, row in enumerate(rows):
        place = slice(width - len(row), width) if decoder_only else slice(0, len(row))
        ids[i, place], mask[i, place] = torch.tensor(row), 1
    return ids, mask


@torch.inference_mode()
def reply(model, decoder_only, contexts, beam_size, tokens):
    """Returns the tokens that follow each context."""
    ids, mask = padded(contexts, decoder_only)
    replies = model.generate(input_ids=ids, attention_mask=mask, do_sample=False, num_beams=beam_size, use_cache=True,
                             min_new_tokens=tokens, max_new_tokens=tokens, length_penalty=0.65, pad_token_id=PAD)
    return replies[:, ids.shape[1]:] if decoder_only else replies[:, 1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--contexts", type=pathlib.Path, required=True)
    parser.add_argument("--beam-size", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
    model, decoder_only = load(options.model)
    contexts = json.loads(options.contexts.read_text())
    batches = [contexts[i:i + options.batch] for i in range(0, len(contexts), options.batch)]
    seconds, tokens = [], 0
    for number in range(1 + options.rounds):  # the first is not timed
        for batch in batches:
            begin = time.perf_counter()
            replies = reply(model, decoder_only, batch, options.beam_size, options.tokens)
            if number > 0:
                seconds.append(time.perf_counter() - begin)
                tokens += replies.numel()
    import transformers
    print(json.dumps(dict(peer=f"transformers {transformers.__version__}", batches=len(seconds), tokens=tokens,
                          tokens_per_s=round(tokens / sum(seconds)), batch_ms=round(statistics.median(seconds) * 1e3, 2))))


if __name__ == "__main__":
    main()
