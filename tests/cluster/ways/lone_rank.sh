# shellcheck shell=bash
# One rank of eight, the others never come: it ends after --timeout, and says which are missing.
source "$(dirname "$0")/../checks.sh"
quick="${train[*]} --timeout 2"
expect 3 "${two_nodes[@]}" --mpi=none bash -c "$(only 0 "$quick")"
says "only 1 of 8 ranks have come within 2 s; missing: rank 1-7; those here are on n1."
expect 3 "${two_nodes[@]}" --mpi=none bash -c "$(only 5 "$quick")"
says "is rank 0 running, and reachable from n2?"
expect 3 "${two_nodes[@]}" --mpi=pmix bash -c "$(only 0 "$quick")"
says "rank 0 of 8 on n1 waited in vain: missing: rank 1-3 on n1; rank 4-7 on n2 (within 2 s)"
# Rank 3 comes in time, but when the others, after ten seconds, already ask who is missing.
late='case $PMIX_RANK in 6) exec sleep 20 ;; 3) sleep 10 ;; esac; exec '
quick="${train[*]} --timeout 15"
expect failure srun --kill-on-bad-exit=0 -N2 --ntasks-per-node=4 --mpi=pmix bash -c "$late$quick"
says "missing: rank 6 on n2 (within 15 s)"
expect failure mpirun --mca plm rsh --mca plm_rsh_agent "$here/remote_shell.sh" \
    --mca oob_tcp_if_include 10.77.0.0/24 -np 8 --host n1:4,n2:4 bash -c "$late$quick"
says "missing: rank 6 on n2 (within 15 s)"
# A PMIx that nobody answers for is one line a rank, not an MPI that aborts.
broken='for uri in ${!PMIX_SERVER_URI*}; do export $uri="gone.0;tcp4://127.0.0.1:1"; done; exec '
expect 2 srun -n2 --mpi=pmix bash -c "$broken$quick"
says "does not answer (PMIX_SERVER_URI"
keeps_quiet_about "An error occurred in MPI_Init"
