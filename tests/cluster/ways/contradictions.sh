# shellcheck shell=bash
# Sources that contradict each other are an error on every rank, not eight runs of one rank.
source "$(dirname "$0")/../checks.sh"
RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=n1 expect 2 "${two_nodes[@]}" --mpi=none "${train[@]}"
says "RANK 0 of WORLD_SIZE 1 contradicts the Slurm step, where this is task 3 of 8"
keeps_quiet_about "training"
RANK=0 WORLD_SIZE=8 LOCAL_RANK=0 LOCAL_WORLD_SIZE=4 MASTER_ADDR=n1 \
    expect 2 srun -n8 --mpi=none bash -c '[ $SLURM_PROCID != 0 ] || exit 0; '"${train[*]}"
says "contradicts the Slurm step"
WORLD_SIZE=8 expect 2 "${train[@]}"
says "RANK is not"
PMI_RANK=0 PMI_SIZE=4 expect 2 "${train[@]}"
says "another MPI's mpirun"
expect 2 "${two_nodes[@]}" --mpi=none "${train[@]}" --distributed-world-size 4
says "started 8"
expect 2 "${two_nodes[@]}" --mpi=none "${train[@]}" --backend mpi
says "MPI did not start this run"
