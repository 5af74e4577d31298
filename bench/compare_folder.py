#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares fine-tuning of a Hugging Face folder with transformers, and of adapters with PEFT, in turns on this machine's CPU.

    compare_folder.py --program BUILD/bin/lockstep --shape smollm2-135m --work FOLDER [--lora] [--dtype bf16] [--skip-compiled]

The folder has the shape of a public model and random weights; its tokenizer is the small byte-level one of the tests. Each program
takes 2 rows of 512 tokens a step. With --replies 64 each answers 64 prompts of 32 tokens with 32 tokens, greedily, at once; reading
the weights is not timed. Prints a table: tokens/s, the ratio, and the peak memory without what each held before.
It is run with a Python that has torch, transformers and (for --lora) peft.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS, TOKENS, PROMPT, REPLY = 2, 512, 32, 32
SHAPES = {
    "smollm2-135m": ("LlamaConfig", dict(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=8192, rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
        tie_word_embeddings=True, rms_norm_eps=1e-5)),
    "qwen3-0.6b": ("Qwen3Config", dict(
        vocab_size=151936, hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16,
        num_key_value_heads=8, head_dim=128, max_position_embeddings=40960, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0})),
    "tiny": ("LlamaConfig", dict(
        vocab_size=512, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=1024, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, tie_word_embeddings=True)),
}


def write_folder(shape, folder):
    import torch
    import transformers

    kind, values = SHAPES[shape]
    torch.manual_seed(1)
    config = getattr(transformers, kind)(bos_token_id=0, eos_token_id=0, **values)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    for each in (ROOT / "tests/golden/huggingface/gpt2").glob("*"):
        if each.name.startswith(("tokenizer", "vocab", "merges", "special")):
            shutil.copy(each, folder)


def write_data(program, folder, work):
    random.seed(1)
    text = work / "text.txt"
    words = [line.split("text:")[-1] for line in (ROOT / "examples/shakespeare/train.txt").read_text().splitlines()]
    text.write_text("\n".join(words))
    subprocess.run([program, "prepare", "--format", "text", "--like", folder, "--input", text, "--block-size", str(TOKENS),
                    "--out", work / "data"], check=True, stdout=subprocess.DEVNULL)


def peak_bytes_of(command):
    child = subprocess.Popen([str(each) for each in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(errors)
    return used.ru_maxrss * 1024


def own_steps(given, folder, work):
    run = work / "run"
    shutil.rmtree(run, ignore_errors=True)
    command = [given.program, "train", "--data", work / "data", "-mf", run, "--init-model", folder, "-bs", ROWS, "--optimizer", "adamw",
               "-lr", 1e-5, "--gradient-clip", 1, "--precision", given.dtype, "--device", "cpu", "--log-every-n-steps", 1,
               "--max-train-steps", given.warmup + given.steps, "--save-every-n-secs", -1, "--async-save", "false"]
    if given.lora:
        command += ["--lora-r", 16]
    peak = peak_bytes_of(command)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    seconds = sorted([line["seconds"] for line in lines if line["kind"] == "train"][-given.steps:])
    shutil.rmtree(run)
    return {"tokens_per_s": ROWS * TOKENS / seconds[len(seconds) // 2], "step_peak_bytes": peak}


def own_replies(given, folder, work):
    def seconds(prompts, tokens):
        asked = work / "prompts.txt"
        text = (ROOT / "examples/shakespeare/plain.txt").read_text().split()
        asked.write_text("".join(" ".join(text[i * PROMPT:(i + 1) * PROMPT]) + "\n" for i in range(prompts)))
        begin = time.perf_counter()
        peak = peak_bytes_of([given.program, "generate", "-mf", folder, "--input", asked, "-bs", prompts, "--text-truncate", PROMPT,
                              "--label-truncate", tokens, "--precision", given.dtype, "--device", "cpu"])
        return time.perf_counter() - begin, peak

    reading, _ = seconds(1, 1)
    whole, peak = seconds(given.replies, REPLY)
    return {"tokens_per_s": given.replies * REPLY / (whole - reading), "step_peak_bytes": peak}


def theirs(given, folder, more):
    command = [sys.executable, ROOT / "bench/transformers_peer.py", "--folder", folder, "--dtype", given.dtype, "--batch", ROWS,
               "--tokens", REPLY if given.replies else TOKENS, "--replies", given.replies, "--steps", given.steps, "--warmup", given.warmup, *more]
    if given.lora:
        command.append("--lora")
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--shape", choices=SHAPES, default="smollm2-135m")
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--lora", action="store_true")
    parser.add_argument("--skip-compiled", action="store_true")
    parser.add_argument("--replies", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=1)
    return parser.parse_args()


def main():
    given = options()
    work = given.work / given.shape
    folder = work / "folder"
    if not folder.exists():
        work.mkdir(parents=True, exist_ok=True)
        write_folder(given.shape, folder)
        write_data(given.program, folder, work)
    peer = "PEFT" if given.lora else "transformers"
    ours = own_replies if given.replies else own_steps
    programs = {"Lockstep": lambda: ours(given, folder, work), peer: lambda: theirs(given, folder, [])}
    if not given.skip_compiled and not given.replies:
        programs[f"{peer}, compiled"] = lambda: theirs(given, folder, ["--compile"])
    print(f"{given.shape}, {given.dtype}, " + (f"{given.replies} replies" if given.replies else f"{ROWS} x {TOKENS} tokens"))
    for _ in range(given.rounds):
        first = None
        for name, measure in programs.items():
            figures = measure()
            first = first or figures
            print(f"{name:24} {figures['tokens_per_s']:9.1f} tokens/s  {first['tokens_per_s'] / figures['tokens_per_s']:6.2f} x  "
                  f"{figures['step_peak_bytes'] / 2**20:8.0f} MiB  {first['step_peak_bytes'] / figures['step_peak_bytes']:5.2f}", flush=True)


if __name__ == "__main__":
    main()
