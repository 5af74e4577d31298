# shellcheck shell=bash
# Hosts and networks: IPv6, a second network, names that mean nothing, addresses of other hosts.
source "$(dirname "$0")/../checks.sh"
none=("${two_nodes[@]}" --mpi=none "${train[@]}")
expect 0 "${none[@]}" --master-addr n1-six
trained slurm
expect 0 "${none[@]}" --master-addr fd77::1
trained slurm
expect 0 "${none[@]}" --master-addr n1-second --interface eth1
trained slurm
expect 2 "${none[@]}" --interface eth9
says "--interface eth9: n2 has no such network interface"
expect 2 "${none[@]}" --interface lo
says "--interface lo: n1 reaches no other host by it"
expect 2 "${none[@]}" --master-addr nowhere
says "the host of rank 0, nowhere, does not resolve"
says "give its address by --master-addr"
expect 3 "${none[@]}" --master-addr n2 --timeout 2
says "rank 0 runs on n1, but the address n2 is not this host's: correct --master-addr"
