# Sourced by the steps of speed: training steps of Lockstep and of PyTorch, in turns.
# With ahead=SHARE nothing is measured: PyTorch compiles what it will need, in that share of the GPU's memory.

if [ "$mode" = gpu ]; then device=cuda; else device=cpu; fi

# What is compiled for one step is there for the next.
export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR:-/tmp/lockstep-torchinductor}
has_torch=''
! python3 -c "import torch, sys; sys.exit('$device' == 'cuda' and not torch.cuda.is_available())" 2> torch_is_missing || has_torch=yes
peer_words=(--compile)
[ "$mode" = gpu ] || peer_words=()
failed_turns=''

# turn WHO NAME OPTION...: one run, its line of figures added to NAME.WHO; else NAME.WHO.why says why there is none.
# The table has it at once, should the step be cut off.
turn() {
    one_turn "$@"
    [ -n "${ahead:-}" ] || write_table
}

one_turn() {
    local who=$1 name=$2 left=$((seconds - SECONDS - 12)) code=0 less=()
    shift 2
    if [ -n "${ahead:-}" ]; then
        [ "$who" = torch ] || return 0
        less=(--steps 1 --warmup 1 --passes 1 --warmup-passes 0 --memory-share "$ahead")
    fi
    if [ "$left" -lt 10 ]; then
        echo "no time was left" > "$name.$who.why"
        return
    fi
    if [ "$who" = lockstep ]; then
        with_libraries show timeout "$left" "$root/bin/bench_train_step" --device $device "$@" > line 2> errors || code=$?
    else
        show timeout "$left" python3 "$root/bench/torch_peer.py" "${peer_words[@]}" "$@" "${less[@]}" > line 2> errors || code=$?
    fi
    if [ $code = 0 ]; then
        tail -n 1 line | tee -a "$name.$who" >&3
        rm -f "$name.$who.why"
        return
    fi
    tail -n 15 errors >&3
    if [ $code = 124 ]; then
        echo "not done in $left s" > "$name.$who.why"
    elif grep -qi 'out of memory\|has no room for' errors; then
        echo "needs more memory" > "$name.$who.why"
    else
        echo "exit code $code" > "$name.$who.why"
        [ "$who" = torch ] || failed_turns+="$name; "
    fi
}

# figure FILE KEY: the mean over the turns; empty where there was none.
figure() {
    { sed -n "s/.*\"$2\": *\([^,}]*\).*/\1/p" "$1" 2> /dev/null || true; } |
        awk '{ sum += $1 } END { if (NR) printf "%.15g", sum / NR }'
}

rounded() { figure "$@" | awk '{ printf "%.0f", $1 }'; }

# figure_or_why NAME.WHO KEY
figure_or_why() {
    local value
    value=$(rounded "$1" "$2")
    echo "${value:-$(cat "$1.why" 2> /dev/null || echo 'not run')}"
}

ratio() { awk -v a="$1" -v b="$2" -v format="$3" 'BEGIN { if (a > 0 && b > 0) printf format, a / b }'; }

gigabytes() { ratio "$(figure "$1" step_peak_bytes)" 1e9 '%.1f'; }

# search WHO NAME STEPS BATCHES OPTION...: each number of rows, as a column of the table; the fastest in $best_lockstep
# or $best_torch. What is compiled for the peer here is there for its turns. With peer_tries=first it does not look on
# once a number fits.
search() {
    local who=$1 name=$2 steps=$3 batches=$4 batch rate most=0
    shift 4
    declare -g "best_$who=${batches%% *}"
    [ "$who" = lockstep ] || [ -n "$has_torch" ] || return 0
    printf '%s\t%s\n' "$name" "$batches" > searched
    for batch in $batches; do
        if [ "$who" = torch ] && [ "${peer_tries:-all}" = first ] && [ "$most" != 0 ]; then break; fi
        turn "$who" "$name, batch $batch" --batch "$batch" --steps "$steps" "$@"
        rate=$(rounded "$name, batch $batch.$who" tokens_per_s)
        if [ "${rate:-0}" -gt "$most" ]; then
            most=$rate
            declare -g "best_$who=$batch"
        fi
    done
}

# compare NAME GOAL KEY OPTION...: in turns, ours with the words in $ours as well, the peer's with those in $theirs.
compare() {
    local name=$1
    expect "$1" "$2" "$3"
    shift 3
    turn lockstep "$name" "${ours[@]}" "$@"
    if [ -n "$has_torch" ]; then
        turn torch "$name" "${theirs[@]}" "$@"
        turn lockstep "$name" "${ours[@]}" "$@"
    fi
}

# expect NAME GOAL KEY: a row of the table; its figures are KEY's in the file `figures`, which goals.sh reads.
expect() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >> expected; }

row() {
    local name=$1 goal=$2 key=$3 of_gemm ratio jitter host_us
    of_gemm=$(ratio "$(figure "$name.lockstep" gflops)" "$(figure "$name.lockstep" ceiling_gflops)" '%.2f')
    ratio=$(ratio "$(figure "$name.lockstep" tokens_per_s)" "$(figure "$name.torch" tokens_per_s)" '%.2f x')
    jitter=$(ratio "$(figure "$name.lockstep" p99_ms)" "$(figure "$name.lockstep" p50_ms)" '%.3f')
    host_us=$(rounded "$name.lockstep" host_us)
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$name" \
        "$(figure_or_why "$name.lockstep" tokens_per_s)" "$of_gemm" "$(figure_or_why "$name.torch" tokens_per_s)" \
        "$ratio" "$goal" "$jitter" "$host_us" "$(gigabytes "$name.lockstep")" "$(gigabytes "$name.torch")"
    printf "$key\t%s\t%s\n" tokens_per_s "$(rounded "$name.lockstep" tokens_per_s)" of_gemm "$of_gemm" ratio "$ratio" \
        jitter "$jitter" host_us "$host_us" >> figures
}

row_of_search() {
    local name=$1 batch=$2
    printf '| %s | %s | %s | %s | %s |\n' "$batch" "$(figure_or_why "$name.lockstep" tokens_per_s)" \
        "$(gigabytes "$name.lockstep")" "$(figure_or_why "$name.torch" tokens_per_s)" "$(gigabytes "$name.torch")"
}

write_table() {
    local name batches batch goal key
    rm -f figures
    {
        [ ! -f searched ] || while IFS=$'\t' read -r name batches; do
            printf '| %s: rows a step | tokens/s | memory, GB | PyTorch, tokens/s | memory, GB |\n| --- | --- | --- | --- | --- |\n' "$name"
            for batch in $batches; do row_of_search "$name, batch $batch" "$batch"; done
            echo
        done < searched
        printf '| | tokens/s | of GEMM rate | PyTorch, tokens/s | ratio | goal | p99/p50 of a step | host, us a step | memory, GB | PyTorch, GB |\n'
        printf '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n'
        [ ! -f expected ] || while IFS=$'\t' read -r name goal key; do row "$name" "$goal" "$key"; done < expected
        printf '\nGoals beside these: p99/p50 1.05 for one shape, host 100 us with graphs.\n'
        [ -n "$has_torch" ] || printf '\nPyTorch was not run: python3 has no torch for this device (%s).\n' "$(tail -n 1 torch_is_missing)"
    } > table.md
}

# End of the step.
end_turns() {
    [ -z "$failed_turns" ] || failed "these did not run: $failed_turns"
    ! grep -qsvx 'needs more memory' ./*.why || incomplete "not every turn was taken: see the table"
}
