#!/usr/bin/env bash
# A wheel that pip installs into an environment of its own prepares, trains with two ranks and answers from there, also
# where the folder's name has a blank, and goes without a trace. pip checks each file's hash.
#   wheel_test.sh BUILD
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong() { echo "wheel_test.sh: $*" >&2; exit 1; }

wheel=$("$source/packaging/wheel.sh" "$build" "$scratch/wheels")
size=$(stat -c %s "$wheel")
echo "the wheel has $((size / 1000000)) MB"
[ "$size" -lt 60000000 ] || wrong "the wheel has $size bytes, more than 60 MB"

/usr/bin/python3 -m venv --system-site-packages "$scratch/an environment"
bin="$scratch/an environment/bin"
"$bin/python" -m pip install --quiet --no-index --no-deps "$wheel" > "$scratch/log" 2>&1 || wrong "pip: $(cat "$scratch/log")"
# What auditwheel asks, with the wheel's own glibc in place of the system's: each library that something needs is there too.
{ find "$scratch/an environment" -path '*/lockstep/_dist/*' -type f -exec objdump -p {} + 2> "$scratch/log" || true; } |
    awk '$1 == "NEEDED" { print $2 }' | sort -u > "$scratch/needed"
grep -q '^libc.so.6$' "$scratch/needed" || wrong "no file needs libc: $(cat "$scratch/log")"
while read -r name; do
    [ -n "$(find "$scratch/an environment" -path '*/lockstep/_dist/lib/*' -name "$name")" ] || wrong "$name is not in the wheel"
done < "$scratch/needed"
cd "$scratch"
[ -s "$bin/../share/man/man1/lockstep-train.1" ] || wrong "the manual pages are not where man looks"
env -i "$bin/lockstep" --version > version || wrong "lockstep --version: exit code $?"
grep -q '^lockstep [0-9]' version || wrong "lockstep --version says $(cat version)"
head -n 40 "$source/examples/shakespeare/train.txt" > train.txt
"$bin/lockstep" prepare --input train.txt --out data > log 2>&1 || wrong "prepare: $(cat log)"
"$bin/multiprocessing_train" --distributed-world-size 2 --data data -mf model --embedding-size 16 --n-layers 1 --ffn-size 16 \
    --threads 1 --max-train-steps 2 -bs 4 > log 2>&1 || wrong "two ranks: $(cat log)"
"$bin/python" -c '
import lockstep
assert len(lockstep.generate("model", ["hello", "two\nlines"], max_length=4, threads=1)) == 2
assert lockstep.Dataset("data")[0].target.size > 0
' || wrong "the package of Python"
! "$bin/python" -m lockstep train --data nowhere > log 2>&1 || wrong "data that is missing is taken"
"$bin/python" -m pip uninstall --quiet --yes lockstep-train
[ -z "$(find "$scratch/an environment" -path '*lockstep*' ! -name '__pycache__' -type f)" ] || wrong "files stay behind"
