#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/huggingface/gpt2, a tiny GPT-2 in the form in which openai-community/gpt2 lies on the hub, and expected.json
beside it: what transformers calculates with it.

    make_huggingface_golden.py        # in the root of the repository; torch, transformers 5, tokenizers

The names of the tensors have no prefix, the masks are there as buffers, and the table of embeddings has three rows more than
the tokenizer has tokens. One of them would win often if it were not forbidden.
"""

import json
import pathlib
import shutil

import tokenizers
import torch
from safetensors.torch import save_file
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

END = "<|endoftext|>"
ROWS = [("Speak, speak.", "First Citizen:"), ("We know't.", "<|endoftext|> is a word"), ("", "Who's there?"),
        ("Caf\u00e9 \U0001F642", "two  blanks\tand a tab")]
DOCUMENTS = "Let us kill him.\nWe'll have corn.\n\nNo more talking!\n"
SHARDS = pathlib.Path("examples/shakespeare")
FOLDER = pathlib.Path("tests/golden/huggingface/gpt2")
UNUSED = 3


def make_tokenizer():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.post_processor = tokenizers.processors.ByteLevel(trim_offsets=False)
    text = (SHARDS / "plain.txt").read_text(encoding="utf-8")[:100_000]
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=319, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    tokenizer.add_special_tokens([END])  # the last id, as in GPT-2
    tokenizer.save(str(FOLDER / "tokenizer.json"))
    (FOLDER / "tokenizer_config.json").write_text(json.dumps({
        "add_prefix_space": False, "bos_token": END, "eos_token": END, "unk_token": END, "model_max_length": 48,
        "tokenizer_class": "GPT2Tokenizer"}, indent=1) + "\n")


def make_model(tokens):
    torch.manual_seed(1)
    config = GPT2Config(vocab_size=tokens + UNUSED, n_positions=48, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0,
                        attn_pdrop=0, bos_token_id=tokens - 1, eos_token_id=tokens - 1)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            tensor.copy_(torch.randn_like(tensor) * (0.1 if name.endswith("bias") else 0.3) + (1 if "ln_" in name and name.endswith("weight") else 0))
    return model


def trained(model, tokenizer):
    """A moment of training makes replies end, and differ from prompt to prompt."""
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(120):
        optimizer.zero_grad()
        loss_of(model, tokenizer)[0].backward()
        optimizer.step()
    with torch.no_grad():  # an unused row that would win everywhere
        table = model.transformer.wte.weight
        table[-1] = 1.5 * table[tokenizer.convert_tokens_to_ids(END)]
    return model.eval()


def row_ids(tokenizer, context, label):
    end = tokenizer.convert_tokens_to_ids(END)
    plain = tokenizer._tokenizer
    plain.encode_special_tokens = True  # words of a text are no control tokens
    ids = [plain.encode(text, add_special_tokens=False).ids for text in (context, label)]
    return ids[0] or [end], ids[1] + [end]


def loss_sum(model, context, label):
    ids = torch.tensor([context + label])
    logits = model(ids[:, :-1]).logits[0, len(context) - 1:]
    return torch.nn.functional.cross_entropy(logits, torch.tensor(label), reduction="sum")


def loss_of(model, tokenizer):
    rows = [row_ids(tokenizer, *row) for row in ROWS]
    tokens = sum(len(label) for _, label in rows)
    return sum(loss_sum(model, *row) for row in rows) / tokens, tokens


def save(model):
    tensors = {name.removeprefix("transformer."): tensor.detach().clone().contiguous() for name, tensor in model.named_parameters()}
    for layer in range(model.config.n_layer):
        tensors[f"h.{layer}.attn.bias"] = torch.ones(48, 48, dtype=torch.bool).tril().view(1, 1, 48, 48)
    save_file(tensors, FOLDER / "model.safetensors", {"format": "pt"})
    model.config.architectures = ["GPT2LMHeadModel"]
    model.config.save_pretrained(FOLDER)


def replies(model, tokenizer):
    tokens = len(tokenizer)
    for context, _ in ROWS:
        ids = row_ids(tokenizer, context, "")[0]
        out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), do_sample=False, max_new_tokens=12,
                             suppress_tokens=list(range(tokens, tokens + UNUSED)), pad_token_id=tokens - 1)[0, len(ids):].tolist()
        ended = tokens - 1 in out
        yield {"prompt": context, "ended": ended, "ids": out[:-1] if ended else out,
               "reply": tokenizer.decode(out[:-1] if ended else out, clean_up_tokenization_spaces=False)}


def blocks(model, tokenizer, size):
    """Plain text: a document after the token that begins a text; each block goes on from the token before it."""
    end = tokenizer.convert_tokens_to_ids(END)
    total, count = 0.0, 0
    ids = tokenizer._tokenizer.encode(DOCUMENTS).ids + [end]
    before = end
    for at in range(0, len(ids), size):
        block = ids[at:at + size]
        total += loss_sum(model, [before], block).item()
        count += len(block)
        before = block[-1]
    return {"text": DOCUMENTS, "block_size": size, "tokens": count, "loss": total / count}


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    make_tokenizer()
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    model = trained(make_model(len(tokenizer)), tokenizer)
    save(model)
    model.zero_grad()
    loss, tokens = loss_of(model, tokenizer)
    loss.backward()
    stepped = {name: (tensor - tensor.grad).detach().flatten() for name, tensor in model.named_parameters()}
    expected = {
        "rows": [{"context": c, "label": l, "context_ids": row_ids(tokenizer, c, l)[0], "label_ids": row_ids(tokenizer, c, l)[1]}
                 for c, l in ROWS],
        "loss": loss.item(), "tokens": tokens,
        "after_one_step_of_rate_1": {name: {"norm": tensor.norm().item(), "first": tensor[:4].tolist()} for name, tensor in stepped.items()},
        "greedy": list(replies(model, tokenizer)),
        "documents": blocks(model, tokenizer, 16),
    }
    (FOLDER.parent / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
