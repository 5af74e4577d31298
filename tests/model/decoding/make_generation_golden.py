#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/generation.json: what transformers' processors of logits make of some logits, and replies of the models in
tests/golden/families with a penalty for repetitions.

    make_generation_golden.py        # in the root of the repository; torch, transformers 5
"""

import json
import pathlib

import torch
from transformers import AutoModelForCausalLM
from transformers.generation.logits_process import (MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper,
                                                    TopKLogitsWarper, TopPLogitsWarper)

FAMILIES = pathlib.Path("tests/golden/families")
TOKENS, REPLY = 24, 12


def logits_of(seed):
    return torch.randn(1, TOKENS, generator=torch.Generator().manual_seed(seed)) * 3


def penalties():
    """Tokens that are there twice count once."""
    for seed, (penalty, seen) in enumerate([(1.3, [4, 9, 4, 0, 17]), (0.8, [2, 3, 5, 7, 11, 13, 2]), (5.0, list(range(TOKENS)))]):
        logits = logits_of(seed)
        scores = RepetitionPenaltyLogitsProcessor(penalty)(torch.tensor([seen]), logits)
        yield {"penalty": penalty, "seen": seen, "logits": logits[0].tolist(), "scores": scores[0].tolist()}


def warped():
    """What is left to draw from, in the order in which generate() asks its warpers."""
    for seed, (temperature, top_k, top_p, min_p) in enumerate([(1.0, None, 0.95, 0.1), (0.7, None, 0.9, 0.02), (1.5, None, 1.0, 0.05),
                                                               (1.0, 8, None, 0.2), (2.0, 12, None, 0.3), (1.0, 5, None, 1.0)]):
        logits = logits_of(100 + seed)
        warpers = [TemperatureLogitsWarper(temperature), TopKLogitsWarper(top_k) if top_k else TopPLogitsWarper(top_p),
                   MinPLogitsWarper(min_p)]
        scores = logits.clone()
        for warper in warpers:
            scores = warper(None, scores)
        yield {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p, "logits": logits[0].tolist(),
               "probabilities": torch.softmax(scores, -1)[0].tolist()}


def replies():
    for name in ("llama_groups_of_3", "mistral_window", "qwen3"):
        model = AutoModelForCausalLM.from_pretrained(FAMILIES / name, dtype=torch.float32, attn_implementation="eager").eval()
        for penalty, beams in [(1.0, 1), (1.4, 1), (3.0, 1), (1.4, 3)]:
            for prompt in ([5, 9, 31, 9], [40, 12, 7, 8, 33, 50, 21]):
                out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), do_sample=False,
                                     repetition_penalty=penalty, num_beams=beams, length_penalty=0.0, max_new_tokens=REPLY,
                                     min_new_tokens=REPLY, eos_token_id=None, pad_token_id=0)
                yield {"model": name, "penalty": penalty, "beams": beams, "prompt": prompt,
                       "reply": out[0, len(prompt):].tolist()}


def main():
    golden = {"penalties": list(penalties()), "warped": list(warped()), "replies": list(replies())}
    pathlib.Path("tests/golden/generation.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
