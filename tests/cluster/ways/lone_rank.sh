# shellcheck shell=bash
# One rank of eight, the others never come: it ends after --timeout, and says which are missing.
source "$(dirname "$0")/../checks.sh"
quick="${train[*]} --timeout 2"
expect 3 "${two_nodes[@]}" --mpi=none bash -c "$(only 0 "$quick")"
says "only 1 of 8 ranks have come within 2 s; missing: rank 1-7"
expect 3 "${two_nodes[@]}" --mpi=none bash -c "$(only 5 "$quick")"
says "is rank 0 running, and reachable from n2?"
expect 3 "${two_nodes[@]}" --mpi=pmix bash -c "$(only 0 "$quick")"
says "the ranks have not all joined within 2 s"
