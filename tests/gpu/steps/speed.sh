#!/usr/bin/env bash
# GPT-2's training steps in turns with compiled PyTorch, each with its best batch
source "$(dirname "$0")/../step.sh"
source "$here/turns.sh"
needs cuBLASLt

# Graphs are captured in a shape's third step at the latest.
gpt2=(--model gpt2 --dtype bf16 --tgt 1024 --warmup 5) batches='32 64' fixed=8 steps=10 many=400
if [ "$mode" = dry ]; then
    gpt2=(--model gpt2 --dtype fp32 --layers 1 --d 32 --ffn 32 --heads 2 --vocab 50 --tgt 16 --warmup 1)
    batches='1 2' fixed=1 steps=1 many=3
fi
name='gpt2 124M, length 1024'
# Ours first, which takes less of the time.
search lockstep "$name" $steps "$batches" "${gpt2[@]}"
# A hundredth of few steps is the slowest of them.
expect "$name, rows $fixed" 'p99/p50 1.05' jitter
turn lockstep "$name, rows $fixed" "${gpt2[@]}" --batch $fixed --steps $many
search torch "$name" $steps "$batches" "${gpt2[@]}"
[ -z "${ahead:-}" ] || exit 0
ours=(--batch "$best_lockstep" --steps $((many * 16 / 100))) theirs=(--batch "$best_torch" --steps $((many * 5 / 100 + 1)))
[ "$mode" = gpu ] || ours=(--batch "$best_lockstep" --steps 2)
compare "$name, rows $best_lockstep, PyTorch's $best_torch" '1.15 x, 500000, 0.54' best "${gpt2[@]}"
end_turns
