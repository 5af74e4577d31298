# shellcheck shell=bash
# A job, but no step of it: in a batch script, in salloc's own shell, and on the host that submitted.
source "$(dirname "$0")/../checks.sh"
printf '#!/bin/bash\n%s\n' "${train[*]}" > job.sh
expect 2 sbatch --wait -n8 --output "$work/job.out" job.sh
output=$(cat job.out)
says "this is a Slurm job, but not a step of it: type srun before the command"
keeps_quiet_about "training"
expect 2 salloc -n8 "${train[@]}"
says "type srun before the command"
expect 0 on_terminal "salloc -n2" "${train[*]}" 'echo "code $?"' "srun --mpi=none ${train[*]} < /dev/null"
says "type srun before the command"
says "code 2"
says "rank 1 on n1: placed by slurm"
