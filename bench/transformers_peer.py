#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times fine-tuning steps of a Hugging Face folder in transformers, or of adapters beside it in PEFT: the peer of compare_folder.py.

    transformers_peer.py --folder FOLDER [--dtype bf16] [--compile] [--lora] [--batch 2] [--tokens 512]

With --replies N it times greedy replies of --tokens tokens to N prompts of 32 tokens at once instead.
A step is zero grad, forward, backward, clipping and fused AdamW. With bf16 the weights are fp32 and forward runs in autocast, as
Trainer(bf16=True) does; with --lora the frozen weights are bf16 themselves. Rows are full and the tokens random. Prints one JSON line.
step_peak_bytes is the peak memory of the process minus what it held before the model was read.
"""
import argparse
import contextlib
import json
import os
import resource
import time

import torch
from transformers import AutoModelForCausalLM


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--lora", action="store_true")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--vocabulary", type=int, default=256, help="the tokens are drawn below this number")
    parser.add_argument("--replies", type=int, default=0)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=1)
    return parser.parse_args()


def model_of(given):
    held = torch.bfloat16 if given.lora and given.dtype == "bf16" else torch.float32
    model = AutoModelForCausalLM.from_pretrained(given.folder, dtype=held)
    model.config.use_cache = False
    if given.lora:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=16, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM"))
    return model.train()


def times_of_replies(given, model):
    model.eval()
    model.config.use_cache = True
    prompts = torch.randint(0, given.vocabulary, (given.replies, 32))
    begin = time.perf_counter()
    with torch.inference_mode():
        model.generate(prompts, attention_mask=torch.ones_like(prompts), do_sample=False, min_new_tokens=given.tokens,
                       max_new_tokens=given.tokens)
    return [time.perf_counter() - begin], given.replies * given.tokens


def times_of_steps(given, model):
    stepped = torch.compile(model) if given.compile else model
    weights = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=1e-5, fused=True)
    arithmetic = torch.autocast("cpu", torch.bfloat16) if given.dtype == "bf16" else contextlib.nullcontext()
    times = []
    for _ in range(given.warmup + given.steps):
        tokens = torch.randint(0, given.vocabulary, (given.batch, given.tokens))
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with arithmetic:
            loss = stepped(input_ids=tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        times.append(time.perf_counter() - begin)
    return times[given.warmup:], given.batch * given.tokens


def main():
    given = options()
    torch.manual_seed(1)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
    held = peak_bytes()
    model = model_of(given)
    times, tokens = (times_of_replies if given.replies else times_of_steps)(given, model)
    middle = sorted(times)[len(times) // 2]
    print(json.dumps({
        "peer": f"torch {torch.__version__}", "step_ms": round(middle * 1000, 1), "min_ms": round(min(times) * 1000, 1),
        "tokens_per_s": round(tokens / middle, 1), "step_peak_bytes": peak_bytes() - held}))


if __name__ == "__main__":
    main()
