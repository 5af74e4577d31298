#!/usr/bin/env bash
# The encoder-decoder's training steps over rows of any length, in turns with compiled PyTorch, which pads them
source "$(dirname "$0")/../step.sh"
source "$here/turns.sh"
needs cuBLASLt

ours=(--passes 20) theirs=(--passes 8)
seq2seq=(--model seq2seq --dtype bf16 --lengths "$root/bench/shakespeare-lengths.txt" --warmup-passes 3)
if [ "$mode" = dry ]; then
    printf '5 3\n4 4\n9 2\n' > lengths
    ours=(--passes 2) theirs=()
    seq2seq=(--model seq2seq --dtype fp32 --layers 1 --d 32 --ffn 32 --heads 2 --vocab 50 --batch 2 --lengths lengths --warmup-passes 1)
fi
compare 'seq2seq 17.6M, ragged, 64 rows' '3 x' rows64 "${seq2seq[@]}"
if [ "$mode" = gpu ]; then
    compare 'seq2seq 17.6M, ragged, 256 rows' '3 x' rows256 "${seq2seq[@]}" --batch 256
fi
end_turns
