# Sourced by page.sh: each figure that docs/cuda.md has a goal for, as measured, beside the goal and what was reckoned.

# measured STEP NAME KEY: of the figures that the step left. Those of a dry run are no GPU's.
measured() { [ "$mode" = dry ] || sed -n "s/^$2	$3	//p" "$state/$1/figures" 2> /dev/null | tail -n 1; }

# reckoned COLUMN: tokens/s by "What a step should take" of docs/cuda.md; 1 is the model of 124M, 2 that of 1.5B.
reckoned() {
    awk -F '|' -v column="$1" '$2 == " tokens/s " { print $(4 + column) }' "$root/docs/cuda.md" 2> /dev/null |
        sed -n 's/.*us: \([0-9,]*\) .*/\1/p'
}

goal() { printf '| %s | %s | %s | %s |\n' "$1" "${2:-not measured}" "$3" "${4:-}"; }

write_goals() {
    printf '| | measured | goal | reckoned |\n| --- | --- | --- | --- |\n'
    goal 'GPT-2 124M, tokens/s' "$(measured speed best tokens_per_s)" 500,000 "$(reckoned 1)"
    goal 'GPT-2 124M, of the GEMM rate' "$(measured speed best of_gemm)" 0.54
    goal 'GPT-2 124M, against compiled PyTorch' "$(measured speed best ratio)" '1.15 x'
    goal 'GPT-2 124M, 8 rows: p99/p50 of a step' "$(measured speed jitter jitter)" 1.05
    goal 'GPT-2 124M, 8 rows: host, us a step' "$(measured speed jitter host_us)" 100
    goal 'seq2seq 17.6M, ragged, 64 rows, against compiled PyTorch' "$(measured speed_ragged rows64 ratio)" '3 x'
    goal 'seq2seq 17.6M, ragged, 256 rows, against compiled PyTorch' "$(measured speed_ragged rows256 ratio)" '3 x'
    goal 'GPT-2 1.5B, tokens/s' "$(measured speed_large best tokens_per_s)" 46,000 "$(reckoned 2)"
    goal 'GPT-2 1.5B, of the GEMM rate' "$(measured speed_large best of_gemm)" 0.60
    goal 'GPT-2 1.5B, against compiled PyTorch' "$(measured speed_large best ratio)" '1.10 x'
    goal 'kernels bound by memory, the least share of a copy' "$(measured bench_kernels least share)" '85 %'
}
