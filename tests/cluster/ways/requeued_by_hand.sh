# shellcheck shell=bash
# An operator queues a running job again. It goes on from its last checkpoint, and ends with the same bits.
source "$(dirname "$0")/../long_job.sh"
submit
trains 1
wait_until compgen -G "$model/checkpoints/step-*"
scontrol requeue "$job"
starts_again_soon
ends_like_calm 2
