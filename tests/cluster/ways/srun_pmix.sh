# shellcheck shell=bash
# srun --mpi=pmix: MPI, with nothing but the command; without MPI where that is asked for, or where
# the MPI at hand does not understand the cluster's PMI and takes each rank for a world of its own.
source "$(dirname "$0")/../checks.sh"
expect 0 "${two_nodes[@]}" --mpi=pmix "${train[@]}"
trained mpi
expect 0 "${two_nodes[@]}" --mpi=pmix "${train[@]}" --backend gloo
trained mpi
# One rank is still in MPI_Init when those of the other node have left it.
expect 0 "${two_nodes[@]}" --mpi=pmix env LD_PRELOAD="$build/lib/lockstep/liblate_fence.so" \
    LATE_RANK=6 "${train[@]}"
trained mpi
export LOCKSTEP_MPI_MODULE=$build/lib/lockstep/liblone_mpi.so
expect 0 "${two_nodes[@]}" --mpi=pmix "${train[@]}"
trained mpi
expect 2 "${two_nodes[@]}" --mpi=pmix "${train[@]}" --backend mpi
says "MPI says rank 0 of 1"
