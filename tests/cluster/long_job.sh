# shellcheck shell=bash
# Sourced by those of ways/ that disturb a job of two nodes, which queues itself again: a run of one epoch,
# the weights that it has when nobody disturbs it, and what the job does.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
# A second --data would add to the first one.
long=("${train[@]/%"$work/data"/"$work/data.$way"}" --max-train-steps -1 --num-epochs 1 --log-every-n-steps 1
    --save-every-n-steps 5)
size=(-N 2 --ntasks-per-node 1 --mpi none)
rm -rf "data.$way" "$way.sbatch" "$way"-*.out "$model" "$model.calm"
head -n 800 "$here/../../examples/shakespeare/train.txt" > "long.$way.txt"
expect 0 lockstep prepare --format parlai --input "long.$way.txt" --out "$work/data.$way" --shards 1
expect 0 srun -N2 --ntasks-per-node=1 --mpi=none "${long[@]}" -mf "$model.calm"

# submit OPTIONS...: sets $job and $log.
submit() {
    expect 0 lockstep submit "${size[@]}" --job-name "$way" --requeue true "$@" -- "${long[@]}"
    job=$(grep -oE '[0-9]+' <<< "$output" | tail -n 1)
    log=$way-$job.out
}
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
starts() { [ "$(grep -cE '^([0-9T:+-]+ )?placed by' "$log")" -eq "$1" ]; }
steps_since_start() { tac "$log" | sed -E '/^([0-9T:+-]+ )?placed by/,$d' | grep -qE '^([0-9T:+-]+ )?step'; }
# trains N: the job's N-th start has made a step.
trains() { wait_until starts "$1" && wait_until steps_since_start; }
# Slurm would wait two minutes; sooner than in two seconds a node takes it for the job that ended.
starts_again_soon() {
    wait_until state_is PENDING
    scontrol update JobId="$job" StartTime=now+3
}
# ends_like_calm STARTS: the job ends after so many starts with the weights of the run that nobody disturbed.
ends_like_calm() {
    wait_until state_is COMPLETED
    output=$(sed -E 's/^[0-9T:+-]+ //' "$log") # without the times
    count "$1" "^placed by slurm"
    cmp "$model/model.safetensors" "$model.calm/model.safetensors" || fail "other weights"
}
