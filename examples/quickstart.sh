#!/usr/bin/env bash
# From nothing to a trained dialogue model: installs what is missing, builds, prepares the Shakespeare
# dialogues, trains on two ranks, evaluates, and answers five prompts. An installed Lockstep needs no build.
#   examples/quickstart.sh [FOLDER]     results go to FOLDER (default: ./quickstart)
set -euo pipefail
here=$(dirname "$(dirname "$(realpath "$0")")")
out=$(realpath -m "${1:-quickstart}")
cd "$here"
say() { printf '\n== %s\n' "$*"; }

# Of ninja's lines, passes on what is wrong, and tells each tenth of the build.
tell_progress() {
    local line tenths told=0
    while IFS= read -r line; do
        if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
            tenths=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
            ((tenths <= told)) || echo "  $((10 * tenths)) % after $SECONDS s"
            told=$tenths
        elif [ "$line" != "ninja: no work to do." ]; then
            printf '%s\n' "$line"
        fi
    done
}

build() {
    say "1/5  packages and build"
    cmake/install-packages.sh cmake/packages.txt
    if [ ! -x build/bin/lockstep ] || [ -n "$(find . -path ./build -prune -o -newer build/bin/lockstep \( -name '*.[chi]pp' -o -name '*.cu' -o -name 'CMakeLists.txt' \) -print -quit)" ]; then
        echo "Building; on two cores this takes about five minutes."
        [ -f build/build.ninja ] ||
            cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_TESTS=OFF -DCMAKE_UNITY_BUILD=ON > /dev/null
        NINJA_STATUS='[%f/%t] ' cmake --build build --target lockstep | tell_progress
    fi
    bin=$here/build/bin
}

if [ -f CMakeLists.txt ]; then
    build
else
    say "1/5  an installed Lockstep: nothing to build"
    bin=$(realpath ../../bin) # this is share/lockstep
fi
PATH=$bin:$PATH
mkdir -p "$out"

say "2/5  text to HDF5 shards"
lockstep prepare --format parlai --input examples/shakespeare/train.txt --valid examples/shakespeare/valid.txt \
    --dict-lower true --shards 2 --out "$out/data" --overwrite true

say "3/5  training on two ranks"
rm -rf "$out/model"
multiprocessing_train --distributed-world-size 2 --data "$out/data" -mf "$out/model" \
    -m transformer/generator --n-layers 2 --n-heads 4 --embedding-size 192 --ffn-size 512 --dropout 0.1 \
    --optimizer adam -lr 1e-3 --lr-scheduler invsqrt --warmup-updates 60 --gradient-clip 1.0 \
    -bs 16 -dynb full --text-truncate 128 --label-truncate 128 --num-workers 1 \
    --num-epochs 8 --validation-every-n-epochs 2 --validation-metric ppl --log-every-n-steps 20

say "4/5  evaluation on the valid set"
multiprocessing_eval --distributed-world-size 2 --data "$out/data" -mf "$out/model" --split valid \
    --skip-generation true --unigram-baseline true -dynb full -bs 16 | tee "$out/eval.txt"
awk '$2 == "ppl" {ppl = $3} $2 == "unigram_ppl" {unigram = $3}
    END {printf "perplexity %.1f, %.2f x that of word frequencies alone (%.1f)\n", ppl, ppl / unigram, unigram}' "$out/eval.txt"

say "5/5  replies to five prompts"
printf '%s\n' "Good morrow, my lord." "Where is the king?" "What news from Rome?" "Speak, who goes there?" \
    "I love thee not." | lockstep generate -mf "$out/model" --inference beam --beam-size 4 --beam-block-ngram 3

say "done"
echo "data:     $out/data      (lockstep inspect $out/data)"
echo "model:    $out/model     (model.safetensors, config.json, dictionary.txt)"
echo "metrics:  $out/model/metrics.jsonl and TensorBoard events beside it"
echo "page:     $bin/lockstep report -mf $out/model  (its curves and time in one HTML file)"
echo "talk:     $bin/lockstep interactive -mf $out/model"
echo "train on: the same multiprocessing_train command with a larger --num-epochs continues from the last checkpoint"
