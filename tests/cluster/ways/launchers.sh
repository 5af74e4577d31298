# shellcheck shell=bash
# Our own launchers on the cluster: distributed_launch on two nodes, multiprocessing_train on one, and
# a job script from submit.
source "$(dirname "$0")/../checks.sh"
expect 0 srun -N2 --ntasks-per-node=1 --cpus-per-task=4 --mpi=none \
    distributed_launch --nnodes 2 --nproc-per-node 4 "${train[@]}"
trained torchrun
expect 0 srun -n1 --mpi=none multiprocessing_train --distributed-world-size 2 "${train[@]:1}"
says "on 2 ranks x"

# submitted MPI: a job script is written, queued, and runs to its end.
submitted() {
    rm -f submitted.sbatch submitted-*.out
    expect 0 lockstep submit -N 2 --ntasks-per-node 4 --gpus-per-node 4 --job-name submitted --mpi "$1" \
        -- "${train[@]}"
    local job
    job=$(grep -oE '[0-9]+' <<< "$output" | tail -n 1)
    until squeue --noheader --states=all --jobs "$job" --format=%T 2> /dev/null \
        | grep -qE 'COMPLETED|FAILED|CANCELLED|TIMEOUT'; do sleep 0.1; done
    output=$(cat "submitted-$job.out" && scontrol show job "$job")
    says "JobState=COMPLETED"
}
submitted none
trained slurm
submitted pmix
trained mpi
