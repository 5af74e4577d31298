# shellcheck shell=bash
# An operator suspends a run for longer than the time after which a rank that says nothing has failed, and
# resumes it. That changes no bit.
source "$(dirname "$0")/../long_job.sh"
long+=(--timeout 6)
submit
trains 1
scontrol suspend "$job"
sleep 8
scontrol resume "$job"
ends_like_calm 1
