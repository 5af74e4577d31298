#!/usr/bin/env bash
# Each kernel's speed, beside a copy and the largest product of the same GPU
source "$(dirname "$0")/../step.sh"
needs cuBLASLt

if [ "$mode" = dry ]; then
    # Its clock stands still.
    with_emulated_libraries show "$root/bin/bench_cuda_kernels_emulated" 16 64 40 |
        awk -F '|' -v OFS='|' 'NR > 2 { $4 = $5 = " " } { print }' > table.md
else
    with_libraries show "$root/bin/bench_cuda_kernels" > table.md
fi
[ "$(wc -l < table.md)" -gt 50 ] || failed "the table is not whole" table.md
! grep -q "| FAILED" table.md || failed "a group of kernels failed" table.md
# The first row is the copy itself.
awk -F ' *[|] *' '$4 ~ /GB\/s$/ && n++ && $5 + 0 > 0 && (least == "" || $5 + 0 < least) { least = $5 + 0; name = $2 }
    END { if (name) printf "least\tshare\t%s %% (%s)\n", least, name }' table.md > figures
