# shellcheck shell=bash
# srun without any PMI, and with one that Open MPI does not have: the store, then Gloo.
source "$(dirname "$0")/../checks.sh"
expect 0 "${two_nodes[@]}" --mpi=none "${train[@]}"
trained slurm
expect 0 "${two_nodes[@]}" --mpi=pmi2 "${train[@]}"
trained slurm
# Ranks dealt to the nodes in turn, four on one and one on the other.
expect 0 srun -N2 -n5 --mpi=none --distribution=cyclic "${train[@]}"
count 1 "^rank 1 on n2: placed by slurm"
count 3 "^rank [234] on n1: placed by slurm"
says "on 5 ranks x"
