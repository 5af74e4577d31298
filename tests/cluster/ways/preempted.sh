# shellcheck shell=bash
# A job that is told twice in one epoch that its time is over: it stops at a checkpoint, queues itself
# again, and its weights are in the end, bit for bit, those of a run that nobody disturbed.
source "$(dirname "$0")/../checks.sh"
long=("${train[@]}" --max-train-steps -1 --num-epochs 1 --data "$work/data.long" --log-every-n-steps 1)
size=(-N 2 --ntasks-per-node 1 --mpi none)
rm -rf data.long preempted.sbatch preempted-*.out "$model" "$model.calm"
head -n 800 "$here/../../examples/shakespeare/train.txt" > long.txt
expect 0 lockstep prepare --format parlai --input long.txt --out "$work/data.long" --shards 1
expect 0 srun -N2 --ntasks-per-node=1 --mpi=none "${long[@]}" -mf "$model.calm"

expect 0 lockstep submit "${size[@]}" --job-name preempted --requeue true -- "${long[@]}"
job=$(grep -oE '[0-9]+' <<< "$output" | tail -n 1)
log=preempted-$job.out
# wait_until COMMAND...: for a minute at most.
wait_until() {
    for _ in $(seq 600); do
        ! "$@" 2> /dev/null || return 0
        sleep 0.1
    done
    output=$(cat "$log" && scontrol show job "$job")
    fail "never: $*"
}
state_is() { [ "$(squeue --noheader --states=all --jobs "$job" --format=%T)" = "$1" ]; }
starts() { [ "$(grep -c '^placed by' "$log")" -eq "$1" ]; }
steps_since_start() { tac "$log" | sed '/^placed by/,$d' | grep -q '^step'; }
for stop in 1 2; do
    wait_until starts "$stop"
    wait_until steps_since_start
    scancel --batch --signal=USR1 "$job"
    wait_until state_is PENDING
    # Slurm would wait two minutes; sooner than in two seconds a node takes it for the job that ended.
    scontrol update JobId="$job" StartTime=now+3
done
wait_until state_is COMPLETED
output=$(cat "$log")
count 3 "^placed by slurm"
cmp "$model/model.safetensors" "$model.calm/model.safetensors" || fail "other weights"
