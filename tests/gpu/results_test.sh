#!/usr/bin/env bash
# Every kernel's source has a row in docs/gpu-results.md, and what is named there exists.
set -euo pipefail
cd "$(dirname "$0")/../.."
named=$(sed -n 's/^| [^|]* | \([^|]*\) |.*/\1/p' docs/gpu-results.md | grep -o '[a-z0-9_]*\.cu\b' | sort -u)
there=$(basename -a runtime/kernels/cuda/*.cu | sort -u)
if [ "$named" != "$there" ]; then
    echo "docs/gpu-results.md and runtime/kernels/cuda differ (<: a row without source, >: a source without row):" >&2
    diff <(echo "$named") <(echo "$there") | grep '^[<>]' >&2
    exit 1
fi
