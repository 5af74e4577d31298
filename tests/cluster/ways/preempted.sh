# shellcheck shell=bash
# A job that is told twice in one epoch that its time is over: it stops at a checkpoint, queues itself
# again, and its weights are in the end, bit for bit, those of a run that nobody disturbed.
source "$(dirname "$0")/../long_job.sh"
submit
for stop in 1 2; do
    trains "$stop"
    scancel --batch --signal=USR1 "$job"
    starts_again_soon
done
ends_like_calm 3
