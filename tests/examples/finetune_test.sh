#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/finetune.sh makes of a tiny GPT-2 and some conversations a merged model that evaluates as the run's adapters do.
#   tests/examples/finetune_test.sh LOCKSTEP
set -euo pipefail
export PATH
PATH=$(dirname "${1:?LOCKSTEP}"):$PATH
cd -P "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "finetune_test.sh: $*" >&2; exit 1; }

for word in sun moon star stone light; do
    for again in 1 2 3 4; do
        printf '{"messages": [{"role": "user", "content": "%s %s"}, {"role": "assistant", "content": "the %s"}]}\n' \
            "$word" "$again" "$word"
    done
done > "$scratch/talks.jsonl"

RANKS=2 examples/finetune.sh tests/golden/huggingface/gpt2 "$scratch/talks.jsonl" "$scratch/out" --threads 1 > "$scratch/said" ||
    { cat "$scratch/said"; fail "the script failed"; }
for file in run/adapter_model.safetensors run/adapter_config.json merged/model.safetensors merged/config.json; do
    [ -s "$scratch/out/$file" ] || fail "$file is missing"
done
loss() { lockstep eval -mf "$1" --data "$scratch/out/data" --split valid --skip-generation true --precision fp32 | awk '$2 == "loss" { print $3 }'; }
adapted=$(loss "$scratch/out/run") merged=$(loss "$scratch/out/merged") before=$(loss tests/golden/huggingface/gpt2)
awk -v a="$adapted" -v m="$merged" -v b="$before" 'BEGIN { exit !(a > 0 && a < b && (a - m) ^ 2 < 1e-8) }' ||
    fail "the loss is $before before, $adapted with adapters and $merged after merging"
grep -q "model:" "$scratch/said" || fail "there are no replies"

if examples/finetune.sh tests/golden/huggingface/gpt2 "$scratch/talks.jsonl" "$scratch/out" 2> "$scratch/error"; then
    fail "an existing folder was taken"
fi
grep -q "is there already" "$scratch/error" || fail "$(cat "$scratch/error")"
