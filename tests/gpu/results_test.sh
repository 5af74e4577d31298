#!/usr/bin/env bash
# Every kernel's source has a row in docs/gpu-results.md, and what is named there exists; the page of results finds what
# docs/cuda.md has reckoned.
set -euo pipefail
cd "$(dirname "$0")/../.."
named=$(sed -n 's/^| [^|]* | \([^|]*\) |.*/\1/p' docs/gpu-results.md | grep -o '[a-z0-9_]*\.cu\b' | sort -u)
there=$(basename -a runtime/kernels/cuda/*.cu | sort -u)
if [ "$named" != "$there" ]; then
    echo "docs/gpu-results.md and runtime/kernels/cuda differ (<: a row without source, >: a source without row):" >&2
    diff <(echo "$named") <(echo "$there") | grep '^[<>]' >&2
    exit 1
fi

root=$PWD
source tests/gpu/goals.sh
for column in 1 2; do
    [[ $(reckoned $column) =~ ^[0-9]+,[0-9]+$ ]] ||
        { echo "goals.sh finds no tokens/s in column $column of docs/cuda.md's \"What a step should take\"" >&2; exit 1; }
done
