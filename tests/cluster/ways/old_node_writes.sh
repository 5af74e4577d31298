# shellcheck shell=bash
# By hand, as it takes minutes: run_way.sh STATE BUILD old_node_writes
# The node of a run does not answer Slurm any more, but its ranks live on and write into the model folder. Slurm
# starts the job again on the other node. The new ranks cannot ask about the old ones, as on another machine, and
# must not write beside them. When the old ones are dead at last, the new ones go on, and no bit is lost.
source "$(dirname "$0")/../long_job.sh"
long+=(--num-epochs -1 --max-train-steps 20000 --log-every-n-steps 100 --save-every-n-steps 500 --timeout 300)
size=(-N 1 --ntasks-per-node 2 --mpi none)
rm -rf "$model" "$model.calm"
runs_calmly() { srun -N1 --ntasks-per-node=2 --mpi=none "${long[@]}" -mf "$model.calm"; }
expect 0 runs_calmly
rm -rf "$model"
wait_until() {
    for _ in $(seq 4000); do
        ! "$@" 2> /dev/null || return 0
        sleep 0.1
    done
    output=$(cat "$log" && scontrol show job "$job")
    fail "never: $*"
}
state=${work%/work}
waits="cannot be asked from here; waiting"

# Each start has its own process numbers, so that it looks like another machine to the next one.
lockstep submit "${size[@]}" --job-name "$way" --requeue true --dry-run -- "${long[@]}" \
    | sed 's|^    \(/.*lockstep distributed_train\)|    unshare --pid --fork --kill-child --mount-proc \1|' > own.sbatch
grep -q "unshare --pid" own.sbatch || fail "no unshare"
output=$(sbatch own.sbatch)
job=$(grep -oE '[0-9]+' <<< "$output" | tail -n 1)
log=$way-$job.out
trains 1
node=$(squeue --noheader --jobs "$job" --format=%N)
mapfile -t old < <(pgrep -f -- "distributed_train.*-mf $model")
wait_until compgen -G "$model/checkpoints/step-*"
kill -KILL "$(cat "/run/cluster/$node/pid")" # slurmd alone
scontrol update NodeName="$node" State=DOWN Reason=silent
starts_again_soon
wait_until grep -q "$waits" "$log"
sleep 20
kill -0 "${old[@]}" || fail "the old ranks have ended too early"
! tac "$log" | sed "/$waits/,\$d" | grep -q "^step" || fail "it trains beside the old ranks"
kill -KILL "${old[@]}"
(nsenter --net="/run/netns/$node" unshare --mount --uts "$here/node.sh" "$node" "$here/../.." "$build" "$state" \
    > "$state/slurmd.$node.again.log" 2>&1 < /dev/null &)
scontrol update NodeName="$node" State=RESUME
ends_like_calm 2
