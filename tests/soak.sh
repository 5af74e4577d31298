#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Disturbs a run of two ranks for HOURS and compares it with a run that nobody disturbs:
#   tests/soak.sh HOURS [BUILD]
# Every few seconds it kills a rank or all processes, stops a rank for a while, fills the disk, asks
# the run to stop, or does nothing. In the end the weights, the optimizer's state and the metrics of
# both runs are compared, and what processes, memory and descriptors were left or grew is told.
# It exits with 0 if everything is as promised. SOAK_SEED chooses other disturbances.
set -u
hours=${1:?tests/soak.sh HOURS [BUILD]}
bin=$(realpath "${2:-build}")/bin
cd "$(dirname "$0")/.." || exit 2
[ -x "$bin/lockstep" ] || { echo "soak: no $bin/lockstep; build it first" >&2; exit 2; }
[ -e "$bin/libfailing_disk.so" ] || { echo "soak: build the target failing_disk first" >&2; exit 2; }

scratch=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-soak-XXXXXX")
export LOCKSTEP_SOAK=$scratch  # marks the processes of this script's runs
RANDOM=${SOAK_SEED:-1}
launcher=0
processes() { grep -lsz "^LOCKSTEP_SOAK=$scratch$" /proc/[0-9]*/environ | cut -d/ -f3 | grep -vx "$$"; }
lockstep_processes() {
    for p in $(processes); do
        [ "$(readlink "/proc/$p/exe")" = "$bin/lockstep" ] && echo "$p"
    done
}
kill_all() { lockstep_processes | xargs -r kill -KILL; }
ranks() {
    for p in $(lockstep_processes); do
        grep -qsz '^RANK=' "/proc/$p/environ" && echo "$p"
    done
}
tidy() {
    for p in $(lockstep_processes); do kill -KILL "$p" 2>/dev/null; done
    rm -rf "$scratch"
}
trap tidy EXIT
trap 'exit 130' INT TERM
say() { echo "$(date -u +%H:%M:%S) $*"; }
exec 2> "$scratch/shell.log"  # the shell tells of each process that it killed

head -n 400 examples/shakespeare/train.txt > "$scratch/train.txt"
head -n 40 examples/shakespeare/valid.txt > "$scratch/valid.txt"
"$bin/lockstep" prepare --input "$scratch/train.txt" --valid "$scratch/valid.txt" --shards 2 \
    --out "$scratch/data" > "$scratch/prepare.log" 2>&1 || { cat "$scratch/prepare.log"; exit 2; }

# train MODEL MORE...: two ranks of a tiny model. Nothing in it depends on when it is stopped.
timeout=10
train() {
    local model=$1
    shift
    exec "$bin/multiprocessing_train" --distributed-world-size 2 --data "$scratch/data" \
        -mf "$model" --n-layers 1 --embedding-size 32 --ffn-size 64 --n-heads 2 --dropout 0.1 \
        --optimizer adam -lr 1e-4 -bs 8 --text-truncate 64 --label-truncate 32 --threads 1 \
        --precision fp32 --num-workers 1 --log-every-n-steps 10 --save-every-n-steps 25 \
        --validation-every-n-steps 1000 --validation-patience 0 --timeout "$timeout" "$@"
}

begin() {
    (
        export LD_PRELOAD="$bin/libfailing_disk.so" LOCKSTEP_DISK_FOLDER="$scratch/soaked" \
            LOCKSTEP_DISK_KINDS=write LOCKSTEP_DISK_AT=1 LOCKSTEP_DISK_ONWARD=1 \
            LOCKSTEP_DISK_ACTION=28 LOCKSTEP_DISK_FLAG="$scratch/full"
        train "$scratch/soaked" --num-epochs 1000000 --max-restarts 1000
    ) >> "$scratch/soaked.log" 2>&1 &
    launcher=$!
    starts=$((starts + 1))
}

random_rank() { ranks | shuf -n 1 --random-source=<(yes "$RANDOM"); }

disturb() {
    local victim
    victim=$(random_rank)
    case $((RANDOM % 7)) in
        0) count kill-rank; [ -n "$victim" ] && kill -KILL "$victim" ;;
        1) count kill-all; kill_all ;;
        2)
            count stop-briefly
            [ -n "$victim" ] && kill -STOP "$victim" && sleep 2 && kill -CONT "$victim"
            ;;
        3)
            count stop-long  # longer than 0.8 x --timeout
            [ -n "$victim" ] && kill -STOP "$victim" && sleep 12 && kill -CONT "$victim"
            ;;
        4)
            count full-disk
            touch "$scratch/full"
            sleep $((1 + RANDOM % 5))
            rm -f "$scratch/full"
            ;;
        5) count preempt; kill -TERM "$launcher" ;;
        6) count nothing ;;
    esac 2>/dev/null
}
declare -A counts
count() { counts[$1]=$((${counts[$1]:-0} + 1)); }

# sample FILE: time, kind, process, resident KiB, descriptors of every process.
sample() {
    for p in $(lockstep_processes); do
        local kind=launcher
        grep -qsz '^RANK=' "/proc/$p/environ" && kind=rank
        echo "$SECONDS $kind $p $(awk '/VmRSS/ {print $2}' "/proc/$p/status") \
$(ls "/proc/$p/fd" | wc -l)"
    done >> "$1" 2>/dev/null
}

starts=0 orphans=0
declare -A codes
end=$((SECONDS + $(awk "BEGIN {print int($hours * 3600)}")))
say "disturbing for $hours h in $scratch"
begin
while [ $SECONDS -lt $end ]; do
    sleep $((2 + RANDOM % 5))
    sample "$scratch/soaked.samples"
    disturb
    if ! kill -0 "$launcher" 2>/dev/null; then
        wait "$launcher"
        codes[$?]=$((${codes[$?]:-0} + 1))
        # What the launcher started has a few seconds to follow it.
        for _ in 1 2 3 4 5 6 7 8 9 10; do [ -z "$(lockstep_processes)" ] && break; sleep 1; done
        left=$(lockstep_processes | wc -l)
        orphans=$((orphans + left))
        [ "$left" -gt 0 ] && say "$left processes are left" && kill_all
        begin
    fi
done
rm -f "$scratch/full"
say "stopping the disturbed run"
sleep 5
kill -TERM "$launcher" 2>/dev/null
wait "$launcher"
last=$?
sleep 2
orphans=$((orphans + $(lockstep_processes | wc -l)))
steps=$(ls "$scratch/soaked/checkpoints" | grep -E '^step-[0-9]+$' | sort | tail -1 | sed 's/step-0*//')
for kind in "${!counts[@]}"; do disturbances+="$kind ${counts[$kind]}, "; done
for code in "${!codes[@]}"; do ends+="code $code: ${codes[$code]}, "; done
say "steps $steps, starts $starts, ends ${ends:-}last $last, disturbances ${disturbances:-none}orphans $orphans"

say "the same $steps steps without disturbance"
timeout=60  # a busy machine must not end this run
(train "$scratch/calm" --max-train-steps "$steps" --num-epochs 1000000) > "$scratch/calm.log" 2>&1 &
launcher=$!
while kill -0 "$launcher" 2>/dev/null; do
    sample "$scratch/calm.samples"
    sleep 2
done
wait "$launcher" || { tail -5 "$scratch/calm.log"; exit 1; }
python3 tests/soak_compare.py "$scratch" "$steps" "$orphans"
