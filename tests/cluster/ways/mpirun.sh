# shellcheck shell=bash
# mpirun over two hosts without Slurm; the ranks tell one another their hosts, which confirms how many are on each.
source "$(dirname "$0")/../checks.sh"
across=(mpirun --mca plm rsh --mca plm_rsh_agent "$here/remote_shell.sh"
    --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24)
expect 0 "${across[@]}" -np 8 --host n1:4,n2:4 "${train[@]}"
trained mpi
# A number of local ranks that the environment gets wrong decides nothing unseen.
expect 2 "${across[@]}" -np 2 --host n1:1,n2:1 \
    bash -c "OMPI_COMM_WORLD_LOCAL_SIZE=2 exec ${train[*]}"
says "ranks on n1: MPI has 1, the environment says 2"
