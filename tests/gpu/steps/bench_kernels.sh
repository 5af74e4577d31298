#!/usr/bin/env bash
# Each kernel's speed, beside a copy and the largest product of the same GPU
source "$(dirname "$0")/../step.sh"

if [ "$mode" = dry ]; then
    # Its clock stands still.
    with_emulated_libraries show "$root/bin/bench_cuda_kernels_emulated" 16 64 40 |
        awk -F '|' -v OFS='|' 'NR > 2 { $4 = $5 = " " } { print }' > table.md
else
    with_libraries show "$root/bin/bench_cuda_kernels" > table.md
fi
[ "$(wc -l < table.md)" -gt 50 ] || failed "the table is not whole" table.md
