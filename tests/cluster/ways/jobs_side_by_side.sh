# shellcheck shell=bash
# Several jobs on one node at once, whose stores all want the same port and share a secret.
source "$(dirname "$0")/../checks.sh"
export LOCKSTEP_SECRET=the-same-for-all-jobs-of-this-user
jobs=()
for job in 1 2 3; do
    rm -rf "$model.$job"
    srun -w n1 -n2 --mpi=none "${train[@]}" -mf "$model.$job" --master-port 25000 \
        --max-train-steps 20 > "job.$job" 2>&1 < /dev/null &
    jobs+=($!)
done
for job in 1 2 3; do
    code=0
    wait "${jobs[job - 1]}" || code=$?
    output=$(cat "job.$job")
    [ "$code" -eq 0 ] || fail "job $job ended with $code"
    count 1 "^rank 1 on n1: placed by slurm"
    says "on 2 ranks x"
done
