# shellcheck shell=bash
# What all ways train on, and the loss that they must reach: eight ranks on one machine.
source "$(dirname "$0")/../checks.sh"
rm -rf "${work:?}"/*
head -n 40 "$here/../../examples/shakespeare/train.txt" > text.txt
expect 0 lockstep prepare --format parlai --input text.txt --valid text.txt --out "$work/data" \
    --shards 1 --dict-lower true
expect 0 multiprocessing_train --distributed-world-size 8 "${train[@]:1}"
grep -m1 -E '^the model with the (best|last) weights' <<< "$output" | sed 's/.*loss \([0-9.]*\).*/\1/' > loss
grep -qE '^[0-9.]+$' loss || fail "no loss"
