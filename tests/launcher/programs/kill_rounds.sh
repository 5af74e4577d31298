#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kill_rounds.sh BIN ROUNDS [SEED]: in each round two ranks train, are killed by kill -9 up to
# four times and started again, and must have the weights of a calm run, bit for bit. BIN holds `lockstep`. A kill
# comes at any time, or while a checkpoint is being written. A failed round keeps its folder.
set -u
bin=$(cd "$1" && pwd) rounds=$2
RANDOM=${3:-1}
source=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d)
optimizers=("sgd --momentum 0.9" "adam" "adam --amsgrad true" "adamw --weight-decay 0.01" "adam --moments int8" "adafactor" "lion" "sgd")
precisions=(fp32 bf16)
kills=0 kills_in_saves=0 job=0

end_job() {
    [ "$job" = 0 ] && return
    local processes
    while mapfile -t processes < <(ps -o pid= -s "$job" | tr -d ' ') && [ ${#processes[@]} -gt 0 ]; do
        kill -9 "${processes[@]}"
        sleep 0.02
    done
    wait "$job"
    job=0
} 2> /dev/null

finish() {
    end_job
    rm -rf "$work"
}
trap finish EXIT

# start MODEL OPTIONS...: leaves the number of the job's session in `job`.
start() {
    local model=$1
    shift
    setsid "$bin/multiprocessing_train" --distributed-world-size 2 --data "$work/data" -mf "$model" --n-layers 1 \
        --embedding-size 16 --ffn-size 32 --n-heads 2 --dropout 0.1 --threads 1 --text-truncate 40 --label-truncate 20 \
        --update-freq 2 -bs 8 --num-epochs 3 --skip-generation true --validation-every-n-steps 5 --timeout 20 "$@" \
        > "$model.out" 2>&1 &
    job=$!
}

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }

# Waits for the job's end, at most $1 microseconds; fails if it still runs.
ended_within() {
    local end=$(($(now_us) + $1))
    while kill -0 "$job" 2> /dev/null; do
        (($(now_us) < end)) || return 1
        sleep 0.01
    done
}

# Waits until a checkpoint of the model is being written; fails if the job ends before.
saving() {
    while ! compgen -G "$1/checkpoints/*.tmp-*" > /dev/null; do kill -0 "$job" 2> /dev/null || return 1; done
}

# Prints the step of the newest checkpoint, and the sums of all its tensors.
newest() {
    local checkpoint
    checkpoint=$(ls -d "$1"/checkpoints/step-???????? | tail -1)
    basename "$checkpoint"
    (cd "$checkpoint" && sha256sum -- *.safetensors)
}

same() { cmp -s "$1/model.safetensors" "$2/model.safetensors" && [ "$(newest "$1")" = "$(newest "$2")" ]; }

fail() {
    trap - EXIT
    end_job
    echo "kill_rounds: $1; its folders are in $work" >&2
    exit 1
}

calm() {
    start "$@"
    wait "$job" || fail "a calm run failed: $(tail -2 "$1.out")"
    job=0
}

# disturb MODEL TIME_US OPTIONS...: kills the run up to four times, at any moment of TIME_US or in a save, and then
# lets it reach its end.
disturb() {
    local model=$1 time_us=$2 left=$((RANDOM % 4 + 1)) share status
    shift 2
    for (( ; ; --left)); do
        start "$model" "$@"
        share=$((RANDOM))  # a subshell would draw the same number again
        if ((left > 0 && left % 2 == 0)) && saving "$model"; then
            kills_in_saves=$((kills_in_saves + 1))
        elif ((left == 0)) || ended_within $((time_us * share / 32768)); then
            wait "$job"
            status=$?
            job=0
            ((status == 0)) && return
            fail "a continued run ended with code $status: $(tail -2 "$model.out")"
        fi
        end_job
        kills=$((kills + 1))
    done
}

head -150 "$source/examples/shakespeare/train.txt" > "$work/train.txt"
head -10 "$source/examples/shakespeare/valid.txt" > "$work/valid.txt"
"$bin/lockstep" prepare --dict-lower true --input "$work/train.txt" --valid "$work/valid.txt" --out "$work/data" \
    > "$work/prepare.out" || fail "prepare failed"
for ((round = 0; round < rounds; ++round)); do
    optimizer=${optimizers[round % ${#optimizers[@]}]}
    precision=${precisions[round / ${#optimizers[@]} % 2]}
    read -ra options <<< "--precision $precision -lr 1e-3 --optimizer $optimizer"
    quiet=$work/calm-$precision-${optimizer// /_}
    if [ ! -d "$quiet" ]; then
        begin_us=$(now_us)
        calm "$quiet" "${options[@]}" --save-every-n-steps 100
        time_us=$(($(now_us) - begin_us))
    fi
    loud=$work/round-$round
    disturb "$loud" "$time_us" "${options[@]}" --save-every-n-steps $((RANDOM % 3 + 1))
    same "$quiet" "$loud" || fail "round $round (${options[*]}) has other weights than the calm run"
    rm -rf "$loud" "$loud.out"
done
echo "$rounds rounds with the weights of calm runs; $kills kills, $kills_in_saves of them while a checkpoint was written"
