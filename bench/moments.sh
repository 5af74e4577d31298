#!/usr/bin/env bash
# Compares the perplexity of --moments int8 and fp32 after an epoch of the Shakespeare dialogues, in turns over
# several seeds, and prints a table and the ratio of the means.
#   bench/moments.sh [SEEDS]     default: 5
# BENCH_BUILD names the build folder, which is otherwise build/bench-release.
set -euo pipefail
cd "$(dirname "$0")/.."

seeds=${1:-5}
build=$(realpath -m "${BENCH_BUILD:-build/bench-release}")
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_TESTS=OFF > /dev/null
cmake --build "$build" --target lockstep -- --quiet
PATH=$build/bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

lockstep prepare --format parlai --input examples/shakespeare/train.txt --valid examples/shakespeare/valid.txt \
    --dict-lower true --shards 2 --out "$work/data" > "$work/prepare.txt"
perplexity() {
    train --data "$work/data" -mf "$work/$1-$2" --seed "$2" --moments "$1" \
        -m transformer/generator --n-layers 2 --n-heads 4 --embedding-size 192 --ffn-size 512 --dropout 0.1 \
        --optimizer adam -lr 1e-3 --lr-scheduler invsqrt --warmup-updates 60 --gradient-clip 1.0 --precision fp32 \
        -bs 16 -dynb full --text-truncate 128 --label-truncate 128 --num-epochs 1 > "$work/log.txt" 2>&1
    lockstep eval --data "$work/data" -mf "$work/$1-$2" --split valid --skip-generation true |
        awk '$2 == "ppl" {print $3}'
    rm -rf "$work/$1-$2"
}
echo "seed  fp32  int8"
for seed in $(seq "$seeds"); do
    echo "$seed $(perplexity fp32 "$seed") $(perplexity int8 "$seed")" | tee -a "$work/table.txt"
done
awk '{fp32 += $2; int8 += $3} END {printf "int8 / fp32: %.4f\n", int8 / fp32}' "$work/table.txt"
