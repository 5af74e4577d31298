#!/usr/bin/env bash
# A tree that cmake/portable.sh made runs from wherever it is put, by this system's glibc, and by its own where this
# system's is older: prepares, starts ranks, and is called by links.
#   portable_test.sh BUILD
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong() { echo "portable_test.sh: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$scratch/first" > "$scratch/install.log"
"$source/cmake/portable.sh" "$scratch/first"
mv "$scratch/first" "$scratch/a tree"
tree=$scratch/a\ tree
mkdir "$scratch/links"
ln -s "$tree/bin/multiprocessing_train" "$scratch/links/mp_train"

# Its own glibc has every version that what lies in it asks for.
newest() { sort -V | tail -n 1; }
asked=$(find "$tree/lib" "$tree/libexec" -type f ! -path '*/lib/glibc/*' -exec objdump -T {} + 2> "$scratch/objdump.log" |
    grep -o '(GLIBC_[0-9.]*)' | tr -d '()' | newest)
has=$(objdump -T "$tree/lib/glibc/libc.so.6" | grep -o 'GLIBC_[0-9.]*' | newest)
[ "$(printf '%s\n' "$asked" "$has" | newest)" = "$has" ] || wrong "something asks for $asked, and its glibc has $has"
[ "GLIBC_2.$(cat "$tree/lib/glibc/minor")" = "$has" ] || wrong "lib/glibc/minor is not that of $has"

# What getconf says here stands for a system with an older glibc.
mkdir "$scratch/older"
printf '#!/bin/sh\necho glibc 2.31\n' > "$scratch/older/getconf"
chmod +x "$scratch/older/getconf"
head -n 40 "$source/examples/shakespeare/train.txt" > "$scratch/train.txt"
trains() {
    local name=$1
    cd "$scratch"
    "a tree/bin/lockstep" --version > version || wrong "$name: lockstep --version: exit code $?"
    grep -q '^lockstep [0-9]' version || wrong "$name: lockstep --version says $(cat version)"
    "$tree/bin/lockstep" prepare --input train.txt --out "data-$name" > log 2>&1 || wrong "$name: prepare: $(cat log)"
    links/mp_train --distributed-world-size 2 --data "data-$name" -mf "model-$name" --embedding-size 16 --n-layers 1 \
        --ffn-size 16 --threads 1 --max-train-steps 2 -bs 4 --seed 1 > log 2>&1 || wrong "$name: two ranks: $(cat log)"
    PATH=$tree/bin:$PATH distributed_launch --nproc-per-node 2 distributed_train --data "data-$name" \
        -mf "launched-$name" --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 --max-train-steps 2 -bs 4 \
        > log 2>&1 || wrong "$name: distributed_launch: $(cat log)"
}
trains here
mv "$tree/lib/glibc/ld-linux-x86-64.so.2" "$scratch/"
"$tree/bin/lockstep" --version > "$scratch/log" 2>&1 || wrong "this system's own loader is not used: $(cat "$scratch/log")"
export PATH=$scratch/older:$PATH
! "$tree/bin/lockstep" --version > "$scratch/log" 2>&1 || wrong "the loader of an older system is used"
mv "$scratch/ld-linux-x86-64.so.2" "$tree/lib/glibc/"
trains older
cmp "$scratch/model-here/model.safetensors" "$scratch/model-older/model.safetensors" || wrong "the models differ"
