#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/adapters/NAME: adapters that PEFT saved, and what PEFT calculates with them: the loss, gradients, replies, and
the adapters after one step of AdamW.

    make_adapter_goldens.py [NAME...]        # in the root of the repository; torch, transformers 5, peft

The bases are the tiny models of make_family_goldens.py and make_huggingface_golden.py; rows are those of the latter.
"""

import json
import pathlib
import shutil
import sys

import torch
from peft import LoraConfig, get_peft_model
from peft.utils import get_peft_model_state_dict
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

FOLDER = pathlib.Path("tests/golden/adapters")
ROWS = pathlib.Path("tests/golden/huggingface/expected.json")
RATE, DECAY, REPLY = 0.01, 0.1, 6

CASES = {
    "llama": ("families/llama_groups_of_3", dict(r=3, lora_alpha=7, target_modules=["q_proj", "v_proj", "up_proj", "down_proj"])),
    "gpt2": ("huggingface/gpt2", dict(r=2, lora_alpha=4, use_rslora=True, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True)),
    "gpt2_attention": ("huggingface/gpt2", dict(r=5, lora_alpha=5, target_modules=["attn.c_attn"], fan_in_fan_out=True)),
    "llama_patterns": ("families/llama_groups_of_3", dict(
        r=3, lora_alpha=7, target_modules=["q_proj", "v_proj", "gate_proj"],
        rank_pattern={"layers.1.self_attn.q_proj": 5, "q_proj": 2}, alpha_pattern={"gate_proj": 4, "layers.0.self_attn.v_proj": 1.5})),
    "llama_tables": ("families/llama_groups_of_3", dict(
        r=2, lora_alpha=4, target_modules=["q_proj", "down_proj"], modules_to_save=["embed_tokens", "lm_head"])),
    # The base's table is its head, too.
    "gpt2_table": ("huggingface/gpt2", dict(r=2, lora_alpha=4, target_modules=["c_attn"], fan_in_fan_out=True, modules_to_save=["wte"])),
    "gpt2_head": ("huggingface/gpt2", dict(r=2, lora_alpha=4, target_modules=["c_fc"], fan_in_fan_out=True, modules_to_save=["lm_head"])),
    "gpt2_tables": ("huggingface/gpt2", dict(
        r=2, lora_alpha=4, target_modules=["c_fc"], fan_in_fan_out=True, modules_to_save=["lm_head", "wte"])),
    "gpt2_tied": ("huggingface/gpt2", dict(
        r=2, lora_alpha=4, target_modules=["c_attn"], fan_in_fan_out=True, modules_to_save=["lm_head"], ensure_weight_tying=True)),
}

# Of so many gradients some are nearly zero, where a step with the usual epsilon would tell how they are rounded.
EPSILONS = {"llama_tables": "1e-4"}


def rows():
    for row in json.loads(ROWS.read_text())["rows"]:
        context, label = row["context_ids"], row["label_ids"]
        yield context + label, [-100] * len(context) + label


def loss_of(model):
    total, tokens, written = 0.0, 0, []
    for ids, labels in rows():
        logits = model(torch.tensor([ids])).logits[0, :-1]
        total = total + torch.nn.functional.cross_entropy(logits, torch.tensor(labels[1:]), reduction="sum", ignore_index=-100)
        tokens += sum(label != -100 for label in labels[1:])
        written.append({"input_ids": ids, "labels": labels})
    return total / tokens, tokens, written


def replies(model):
    for ids, labels in rows():
        prompt = ids[:labels.count(-100)]
        out = model.generate(input_ids=torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), do_sample=False,
                             max_new_tokens=REPLY, min_new_tokens=REPLY, eos_token_id=None, pad_token_id=0)[0, len(prompt):].tolist()
        yield {"prompt_ids": prompt, "reply_ids": out}


def make(name, base, options, seed):
    folder, source = FOLDER / name, pathlib.Path("tests/golden") / base
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, attn_implementation="eager")
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **options)).eval()
    adapters = {name: tensor for name, tensor in model.named_parameters() if tensor.requires_grad}
    with torch.no_grad():
        for tensor in adapters.values():
            tensor.copy_(torch.randn_like(tensor) * 0.2)
    model.peft_config["default"].base_model_name_or_path = "../../" + base
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    config = json.loads((folder / "adapter_config.json").read_text())
    config["target_modules"].sort()
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=1) + "\n")
    greedy = list(replies(model))
    optimizer = torch.optim.AdamW(adapters.values(), lr=RATE, betas=(0.9, 0.999), eps=float(EPSILONS.get(name, "1e-8")), weight_decay=DECAY)
    loss, tokens, written = loss_of(model)
    loss.backward()
    gradients = {name.replace(".modules_to_save", "").replace(".default", ""): {"norm": tensor.grad.norm().item(), "first": tensor.grad.flatten()[:4].tolist()}
                 for name, tensor in adapters.items()}
    (folder / "expected.json").write_text(json.dumps(
        {"rows": written, "label_tokens": tokens, "loss": loss.item(), "gradients": gradients, "greedy": greedy}
        | ({"adam_eps": EPSILONS[name]} if name in EPSILONS else {}), indent=1) + "\n")
    optimizer.step()
    save_file({name: tensor.clone().contiguous() for name, tensor in get_peft_model_state_dict(model).items()}, folder / "after_step.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)


def main():
    for seed, (name, (base, options)) in enumerate(CASES.items()):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        make(name, base, options, seed)


if __name__ == "__main__":
    main()
