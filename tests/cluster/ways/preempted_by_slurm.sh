# shellcheck shell=bash
# An urgent job takes the nodes of a run (PreemptMode=REQUEUE with a GraceTime). The ranks have TERM and stop at
# a checkpoint; the job then has ended well, and is queued again all the same. A user's scancel ends it.
source "$(dirname "$0")/../long_job.sh"
submit
trains 1
srun --partition urgent -N2 --ntasks-per-node=8 --mpi=none true || fail "the urgent job does not run"
starts_again_soon
ends_like_calm 2
says "a checkpoint is saved"

rm -rf "$model"
submit
trains 1
scancel "$job"
wait_until state_is CANCELLED
