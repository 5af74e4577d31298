#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/families/NAME: tiny models of transformers with random weights, and what transformers calculates with them.

    make_family_goldens.py [NAME...]        # in the root of the repository; torch, transformers 5

Each has something that the others lack: groups of 3 and of 7 heads, heads whose width is not hidden / heads, biases, norms of heads,
a window, each scaling of rotary positions, keys of both generations, F16, BF16 in several files, and encoders with other numbers of
layers than their decoders. llama_groups_of_3 and bart have rows for the tokens of tests/golden/huggingface/gpt2, so that programs can
train them. With names of folders only these are made anew.
"""

import json
import math
import pathlib
import shutil
import sys

import torch
from tokenizers import Tokenizer
from transformers import (AutoModelForCausalLM, AutoModelForSeq2SeqLM, BartConfig, BlenderbotConfig, BlenderbotSmallConfig, LlamaConfig,
                          MistralConfig, Phi3Config, Qwen2Config, Qwen3Config)

FOLDER = pathlib.Path("tests/golden/families")
VOCABULARY, REPLY = 61, 8
STACKS = {"d_model": 24, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 20, "decoder_ffn_dim": 20,
          "dropout": 0.0, "init_std": 0.3}
SIZES = {"vocab_size": VOCABULARY, "num_hidden_layers": 2, "max_position_embeddings": 64, "initializer_range": 0.3}


def rope(kind="default", **values):
    return {"rope_type": kind, "rope_theta": 10000.0, **values}


LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}

CASES = {
    "llama_groups_of_3": (LlamaConfig(hidden_size=36, num_attention_heads=6, num_key_value_heads=2, intermediate_size=40,
                                      rope_parameters=rope("llama3", **LLAMA3), rms_norm_eps=1e-5, **{**SIZES, "vocab_size": 323}),
                          torch.float32, None),
    "llama_biases": (LlamaConfig(hidden_size=24, num_attention_heads=4, intermediate_size=20, attention_bias=True, mlp_bias=True,
                                 head_dim=10, rope_parameters=rope("linear", factor=2.5), tie_word_embeddings=True, **SIZES),
                     torch.float16, None),
    "llama_yarn": (LlamaConfig(hidden_size=32, num_attention_heads=2, num_key_value_heads=1, intermediate_size=24,
                               rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=16), **SIZES),
                   torch.float32, None),
    "mistral_window": (MistralConfig(hidden_size=24, num_attention_heads=4, num_key_value_heads=2, head_dim=14, intermediate_size=32,
                                     sliding_window=5, rope_parameters=rope(), **SIZES), torch.float32, None),
    "qwen2_groups_of_7": (Qwen2Config(hidden_size=28, num_attention_heads=7, num_key_value_heads=1, intermediate_size=36,
                                      rope_parameters=rope(), tie_word_embeddings=True, **SIZES), torch.bfloat16, "12KB"),
    "qwen3": (Qwen3Config(hidden_size=20, num_attention_heads=4, num_key_value_heads=2, head_dim=12, intermediate_size=28,
                          rope_parameters=rope(), **SIZES), torch.float32, None),
    "qwen3_biases": (Qwen3Config(hidden_size=20, num_attention_heads=3, num_key_value_heads=3, head_dim=8, intermediate_size=28,
                                 attention_bias=True, use_sliding_window=True, max_window_layers=0, sliding_window=4,
                                 rope_parameters=rope(), tie_word_embeddings=True, **SIZES), torch.float32, None),
    "bart": (BartConfig(vocab_size=323, encoder_layers=1, decoder_layers=2, max_position_embeddings=56, scale_embedding=True,
                        decoder_start_token_id=319, bos_token_id=319, eos_token_id=319, pad_token_id=1, forced_eos_token_id=319, **STACKS),
             torch.float32, None),
    "blenderbot": (BlenderbotConfig(vocab_size=VOCABULARY, encoder_layers=2, decoder_layers=1, max_position_embeddings=30,
                                    scale_embedding=True, **STACKS), torch.bfloat16, "12KB"),
    "blenderbot_small": (BlenderbotSmallConfig(vocab_size=VOCABULARY, encoder_layers=2, decoder_layers=2, max_position_embeddings=30,
                                               scale_embedding=True, activation_function="relu", **STACKS), torch.float16, None),
    "phi3": (Phi3Config(hidden_size=24, num_attention_heads=6, num_key_value_heads=2, intermediate_size=32, sliding_window=6,
                        rope_parameters=rope(), pad_token_id=0, **SIZES), torch.float32, None),
}


def make_model(config, dtype, seed):
    torch.manual_seed(seed)
    config._attn_implementation = "eager"
    model = class_of(config).from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if "norm" in name:
                tensor.add_(torch.randn_like(tensor) * 0.2)
            elif name.endswith("bias"):
                tensor.add_(torch.randn_like(tensor) * 0.3)
    return model.to(dtype)


def class_of(config):
    return AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM


def scaled_in_the_decoder(model):
    """transformers 5 forgets to scale the embeddings in BlenderbotSmall's decoder; transformers 4 and ParlAI scale them."""
    if model.config.model_type == "blenderbot-small" and model.config.scale_embedding:
        scale = math.sqrt(model.config.d_model)
        model.model.decoder.layernorm_embedding.register_forward_pre_hook(lambda norm, inputs: (inputs[0] * scale,))
    return model


def rows(seed):
    """Three rows; only some tokens have labels."""
    random = torch.Generator().manual_seed(seed)
    for length, context in [(13, 4), (1, 0), (22, 9)]:
        ids = torch.randint(3, VOCABULARY, (length + 1,), generator=random).tolist()
        yield ids, [-100] * (context + 1) + ids[context + 1:]


def pairs(seed):
    """Three contexts with labels."""
    random = torch.Generator().manual_seed(seed)
    for length, label in [(9, 5), (1, 1), (23, 12)]:
        yield [torch.randint(3, VOCABULARY, (count,), generator=random).tolist() for count in (length, label)]


def calculate_pairs(model):
    total, tokens, written = 0.0, 0, []
    for ids, labels in pairs(3):
        before = [model.config.decoder_start_token_id, *labels[:-1]]
        logits = model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([before])).logits[0]
        total = total + torch.nn.functional.cross_entropy(logits, torch.tensor(labels), reduction="sum")
        tokens += len(labels)
        written.append({"input_ids": ids, "labels": labels, "decoder_input_ids": before})
    return result(model, total, tokens, written)


def calculate(model):
    total, tokens, written = 0.0, 0, []
    for ids, labels in rows(3):
        logits = model(torch.tensor([ids])).logits[0, :-1]
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(labels[1:]), reduction="sum", ignore_index=-100)
        total = total + loss
        tokens += sum(label != -100 for label in labels[1:])
        written.append({"input_ids": ids, "labels": labels})
    return result(model, total, tokens, written)


def result(model, total, tokens, written):
    loss = total / tokens
    loss.backward()
    gradients = {name: {"norm": tensor.grad.norm().item(), "first": tensor.grad.flatten()[:4].tolist()}
                 for name, tensor in model.named_parameters()}
    return {"rows": written, "label_tokens": tokens, "loss": loss.item(), "gradients": gradients}


def replies(model):
    for ids, _ in rows(9):
        out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), do_sample=False, max_new_tokens=REPLY,
                             min_new_tokens=REPLY, eos_token_id=None, pad_token_id=0)[0, len(ids):].tolist()
        yield {"prompt_ids": ids, "reply_ids": out}


@torch.no_grad()
def replies_of_decoder(model):
    for ids, _ in pairs(9):
        reply = [model.config.decoder_start_token_id]
        for _ in range(REPLY):
            logits = model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([reply])).logits[0, -1]
            reply.append(logits.argmax().item())
        yield {"prompt_ids": ids, "reply_ids": reply[1:]}


TALKS = [("Where is my lord?", "He is gone."), ("Speak, speak.", "I will not speak, my lord, nor will I weep."), ("", "Who is there?")]


def calculate_talks(model):
    """Texts with the tokenizer of tests/golden/huggingface/gpt2 and its token at both ends, as programs prepare them."""
    tokenizer = Tokenizer.from_file("tests/golden/huggingface/gpt2/tokenizer.json")
    end = model.config.eos_token_id
    total, tokens, greedy = 0.0, 0, []
    with torch.no_grad():
        for context, label in TALKS:
            ids, labels = [[end, *tokenizer.encode(text).ids, end] for text in (context, label)]
            out = model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([[end, *labels[:-1]]])).logits[0]
            total += torch.nn.functional.cross_entropy(out, torch.tensor(labels), reduction="sum").item()
            tokens += len(labels)
            reply = [end]
            for _ in range(REPLY):
                logits = model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([reply])).logits[0, -1, :end + 1]
                reply.append(logits.argmax().item())
            greedy.append(tokenizer.decode(reply[1:(reply + [end]).index(end, 1)]))
    return {"talks": TALKS, "talk_tokens": tokens, "talk_loss": total / tokens, "talk_replies": greedy}


def old_keys(folder):
    """As transformers 4 wrote them."""
    config = json.loads((folder / "config.json").read_text())
    rope_parameters = config.pop("rope_parameters")
    config["rope_theta"] = rope_parameters.pop("rope_theta")
    config["rope_scaling"] = {"type" if name == "rope_type" else name: value for name, value in rope_parameters.items()}
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.46.0"
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def main():
    for seed, (name, (config, dtype, shards)) in enumerate(CASES.items()):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        folder = FOLDER / name
        shutil.rmtree(folder, ignore_errors=True)
        model = make_model(config, dtype, seed)
        model.save_pretrained(folder, **({"max_shard_size": shards} if shards else {}))
        for file in folder.iterdir():
            file.chmod(0o644)
        (folder / "generation_config.json").unlink(missing_ok=True)
        model = class_of(config).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        if config.is_encoder_decoder:
            expected = {**calculate_pairs(scaled_in_the_decoder(model)), "greedy": list(replies_of_decoder(model))}
            if name == "bart":
                expected |= calculate_talks(model)
        else:
            expected = {**calculate(model), "greedy": list(replies(model))}
        (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
        if name in ("llama_yarn", "llama_biases"):
            old_keys(folder)


if __name__ == "__main__":
    main()
