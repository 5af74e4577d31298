#!/usr/bin/env bash
# The training steps of GPT-2 with 1.5 billion parameters, in turns with compiled PyTorch, each with the batch that fits
source "$(dirname "$0")/../step.sh"
source "$here/turns.sh"
needs cuBLASLt

if [ "$mode" = gpu ]; then
    large=(--model gpt2 --dtype bf16 --layers 48 --d 1600 --ffn 6400 --heads 25 --tgt 1024 --warmup 4)
    steps=4 batches='12 8 16'
    mib=$(gpu_mib)
    [ -n "$mib" ] || not_run "nothing tells how much memory the GPU has, which decides the batches"
    [ "$mib" -lt 100000 ] || batches='24 16 32'
else
    large=(--model gpt2 --dtype fp32 --layers 2 --d 32 --ffn 32 --heads 2 --vocab 50 --tgt 16 --warmup 1)
    steps=1 batches='1 2'
fi
peer_tries=first  # compiling 48 layers takes minutes
name='gpt2 1.5B, length 1024'
search lockstep "$name" $steps "$batches" "${large[@]}"
search torch "$name" $steps "$batches" "${large[@]}"
ours=(--batch "$best_lockstep" --steps $((2 * steps))) theirs=(--batch "$best_torch" --steps "$steps")
compare "$name, rows $best_lockstep, PyTorch's $best_torch" '1.10 x, 0.60' best "${large[@]}"
end_turns
