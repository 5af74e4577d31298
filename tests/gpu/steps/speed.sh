#!/usr/bin/env bash
# Training steps in turns with compiled PyTorch
source "$(dirname "$0")/../step.sh"

if [ "$mode" = gpu ]; then device=cuda; else device=cpu; fi
torch_is_here() { python3 -c "import torch, sys; sys.exit('$device' == 'cuda' and not torch.cuda.is_available())" 2> /dev/null; }
gpu_mib() { nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | head -n 1; }

# not_taken FILE WHY: said where no other turn has figures.
not_taken() { [ -s "$1" ] || echo "$2" > "$1.why"; }

# turn WHO NAME OPTION...: one run, its line of figures added to NAME.WHO; what time is left bounds it.
turn() {
    local who=$1 name=$2 left=$((seconds - SECONDS - 5)) code=0
    shift 2
    if [ "$left" -lt 10 ]; then
        not_taken "$name.$who" "no time was left"
        return
    fi
    if [ "$who" = lockstep ]; then
        with_libraries show timeout "$left" "$root/bin/bench_train_step" --device $device "$@" > line 2> errors || code=$?
    else
        show timeout "$left" python3 "$root/bench/torch_peer.py" "${peer_words[@]}" "$@" > line 2> errors || code=$?
    fi
    case $code in
        0) tail -n 1 line >> "$name.$who" ;;
        124) not_taken "$name.$who" "not done in $left s" ;;
        *)
            not_taken "$name.$who" "exit code $code"
            tail -n 15 errors >&3
            [ "$who" = torch ] || failed_turns+="$name; "
            ;;
    esac
}

# figure FILE KEY: the mean over the turns; empty where there was none.
figure() {
    { sed -n "s/.*\"$2\": *\([^,}]*\).*/\1/p" "$1" 2> /dev/null || true; } |
        awk '{ sum += $1 } END { if (NR) printf "%.15g", sum / NR }'
}

rounded() { figure "$@" | awk '{ printf "%.0f", $1 }'; }

ratio() { awk -v a="$1" -v b="$2" -v format="$3" 'BEGIN { if (a > 0 && b > 0) printf format, a / b }'; }

row() {
    local name=$1 goal=$2 ours peer
    ours=$(rounded "$name.lockstep" tokens_per_s) peer=$(rounded "$name.torch" tokens_per_s)
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$name" \
        "${ours:-$(cat "$name.lockstep.why")}" \
        "$(ratio "$(figure "$name.lockstep" gflops)" "$(figure "$name.lockstep" ceiling_gflops)" '%.2f')" \
        "${peer:-$(cat "$name.torch.why")}" "$(ratio "$ours" "$peer" '%.2f x')" "$goal" \
        "$(ratio "$(figure "$name.lockstep" p99_ms)" "$(figure "$name.lockstep" p50_ms)" '%.3f')" \
        "$(rounded "$name.lockstep" host_us)" \
        "$(ratio "$(figure "$name.lockstep" step_peak_bytes)" 1e9 '%.1f')" \
        "$(ratio "$(figure "$name.torch" step_peak_bytes)" 1e9 '%.1f')" >> rows
}

# compare NAME GOAL STEPS OPTION...: in turns. The peer gets fewer steps.
compare() {
    local name=$1 goal=$2 steps=$3
    shift 3
    turn lockstep "$name" --steps "$steps" "$@"
    if [ -n "$has_torch" ]; then
        turn torch "$name" --steps $((steps < 20 ? steps : 20)) "$@"
        turn lockstep "$name" --steps "$steps" "$@"
    else
        echo "not run" > "$name.torch.why"
    fi
    row "$name" "$goal"
}

failed_turns='' has_torch='' peer_words=(--compile)
! torch_is_here || has_torch=yes
if [ "$mode" = gpu ]; then
    lengths=$root/bench/shakespeare-lengths.txt
    large=(--layers 48 --d 1600 --ffn 6400 --heads 25 --tgt 1024 --batch "$(($(gpu_mib) > 100000 ? 16 : 6))")
    # Graphs are captured in a shape's third step at the latest.
    compare 'gpt2 124M, length 1024, batch 32' '1.15 x, 500000, 0.54' 60 \
        --model gpt2 --dtype bf16 --tgt 1024 --batch 32 --warmup 5
    compare 'seq2seq 17.6M, ragged rows' '3 x' 1 --model seq2seq --dtype bf16 --lengths "$lengths" --warmup-passes 3
    compare "gpt2 1.5B, length 1024, batch ${large[-1]}" '1.10 x, 0.60' 6 --model gpt2 --dtype bf16 "${large[@]}" --warmup 3
else
    peer_words=()
    printf '5 3\n4 4\n9 2\n' > lengths
    tiny=(--layers 1 --d 32 --ffn 32 --heads 2 --vocab 50 --dtype fp32)
    compare 'gpt2' '' 3 --model gpt2 "${tiny[@]}" --tgt 16 --warmup 1
    compare 'ragged rows' '' 1 --model seq2seq "${tiny[@]}" --lengths lengths --batch 2 --warmup-passes 1
fi

{
    printf '| | tokens/s | of GEMM rate | PyTorch, tokens/s | ratio | goal | p99/p50 of a step | host, us a step | memory, GB | PyTorch, GB |\n'
    printf '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n'
    cat rows
    printf '\nGoals beside these: p99/p50 1.05 for one shape, host 100 us with graphs.\n'
    [ -n "$has_torch" ] || printf '\nPyTorch was not run: python3 here has no torch for this device.\n'
} > table.md
[ -z "$failed_turns" ] || failed "these did not run: $failed_turns"
! ls ./*.why > /dev/null 2>&1 || [ -z "$has_torch" ] || incomplete "not every turn was taken: see the table"
