#!/usr/bin/env bash
# Every kernel's source has a row in docs/gpu-results.md, and every source named there exists. The page of results finds
# the figures that docs/cuda.md calculates.
set -euo pipefail
cd "$(dirname "$0")/../.."
named=$(sed -n 's/^| [^|]* | \([^|]*\) |.*/\1/p' docs/gpu-results.md | grep -o '[a-z0-9_]*\.cu\b' | sort -u)
there=$(find runtime/kernels/cuda -name '*.cu' -exec basename -a {} + | sort -u)
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
