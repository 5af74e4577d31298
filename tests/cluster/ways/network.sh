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
says "--interface 'eth9': n2 has no such network interface"
expect 2 "${none[@]}" --interface lo
says "--interface 'lo': n1 reaches no other host by it"
# No name server answers here, which may pass, so the ranks try for a while and a launcher may start
# them again.
expect 1 "${none[@]}" --master-addr nowhere --timeout 4
says "the host of rank 0, 'nowhere', does not resolve"
says "give its address by --master-addr"
expect 3 "${none[@]}" --master-addr n2 --timeout 2
says "rank 0 runs on n1, but the address 'n2' is not this host's: correct --master-addr"

# MPI as well goes by the network that is named, unless the user has told it another.
sent() { nsenter --net=/run/netns/n1 awk '$1 == "eth1:" { print $10 }' /proc/net/dev; }
by_mpi=("${two_nodes[@]}" --mpi=pmix "${train[@]}" --max-train-steps 20)
# sends_by_eth1 COMMAND...: whether n1 sends more than the little that is always sent there.
sends_by_eth1() {
    local before
    before=$(sent)
    expect 0 "$@"
    says "on 8 ranks x"
    echo "  $(($(sent) - before)) bytes by eth1"
    [ $(($(sent) - before)) -gt 200000 ]
}
sends_by_eth1 "${by_mpi[@]}" --interface eth1 || fail "MPI does not use eth1"
! sends_by_eth1 "${by_mpi[@]}" --interface eth0 || fail "MPI uses eth1"
! OMPI_MCA_btl_tcp_if_include=eth0 sends_by_eth1 "${by_mpi[@]}" --interface eth1 \
    || fail "MPI does not heed OMPI_MCA_btl_tcp_if_include"
expect 2 "${by_mpi[@]}" --interface eth9
says "--interface 'eth9': n2 has no such network interface"
