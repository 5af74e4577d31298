# shellcheck shell=bash
# The second of two nodes dies in the midst of a run: its slurmd and all its processes are gone. The ranks on
# the first notice it before Slurm does, for which srun waits. The job is queued again, and goes on from its last
# checkpoint.
source "$(dirname "$0")/../long_job.sh"
state=${work%/work}
comes_back() {
    (nsenter --net=/run/netns/n2 unshare --mount --uts "$here/node.sh" n2 "$here/../.." "$build" "$state" \
        > "$state/slurmd.n2.again.log" 2>&1 < /dev/null &)
    scontrol update NodeName=n2 State=RESUME
    wait_until both_idle
}
both_idle() { [ "$(sinfo --noheader --states=idle --format=%D)" = 2 ]; }

submit
trains 1
wait_until compgen -G "$model/checkpoints/step-*"
ip netns pids n2 | xargs kill -KILL
wait_until grep -q "the run has failed: rank 1 on n2" "$log"
scontrol update NodeName=n2 State=DOWN Reason=died # Slurm notices it after SlurmdTimeout, 300 s
wait_until state_is PENDING
comes_back
starts_again_soon
ends_like_calm 2
