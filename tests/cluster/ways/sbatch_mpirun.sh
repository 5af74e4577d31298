# shellcheck shell=bash
# mpirun inside a batch job, with fewer ranks than the job has tasks, as many, and more: what counts is
# mpirun, not the variables of the step in which it starts its own daemons.
source "$(dirname "$0")/../checks.sh"
job() { # NODES TASKS RANKS
    cat > job.sh <<JOB
#!/bin/bash
rm -rf "$model"
exec mpirun --oversubscribe -np $3 ${train[*]}
JOB
    expect 0 sbatch --wait -N "$1" -n "$2" --output "$work/job.out" job.sh
    output=$(cat job.out)
    says "on $3 rank"
}
job 2 2 1
job 2 2 2
count 1 "^rank 1 on n2: placed by mpi"
job 2 2 4
count 2 "^rank [23] on n2: placed by mpi"
job 1 4 2
count 1 "^rank 1 on n1: placed by mpi"
