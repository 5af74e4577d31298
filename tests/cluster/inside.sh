#!/usr/bin/env bash
# The first process of the test cluster's namespaces (cluster.sh starts it): makes the network, munged,
# slurmctld and two slurmd, tells STATE/ready, and ends by itself when in_cluster.sh has not
# touched STATE/used for two hours. Continuous integration has a limit of less.
#   inside.sh STATE BUILD
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
state=$1
build=$2
idle_s=7200
run=/run/cluster
export PATH=$PATH:/usr/sbin SLURM_CONF=$run/slurm.conf

mount --make-rprivate /
mount -t tmpfs -o mode=755 cluster /run
mkdir -p $run/state $run/spool.n1 $run/spool.n2 /run/munge /run/netns /run/lock
hostname control

cat > $run/hosts <<HOSTS
127.0.0.1 localhost
::1 localhost
10.77.0.254 control
10.77.0.1 n1
10.77.0.2 n2
10.78.0.1 n1-second
10.78.0.2 n2-second
fd77::1 n1-six
fd77::2 n2-six
HOSTS
mount --bind $run/hosts /etc/hosts

# Two networks, as clusters have: the second is for --interface.
ip link set lo up
for network in 77 78; do
    ip link add br$network type bridge
    ip address add 10.$network.0.254/24 dev br$network
    ip link set br$network up
done
for node in 1 2; do
    ip netns add n$node
    for network in 77 78; do
        device=eth$((network - 77))
        ip link add ve$network$node type veth peer name $device netns n$node
        ip link set ve$network$node master br$network up
        ip -n n$node address add 10.$network.0.$node/24 dev $device
        ip -n n$node link set $device up
    done
    ip -n n$node address add fd77::$node/64 dev eth0 nodad
    ip -n n$node link set lo up
done

cp "$here/slurm.conf" $run/
for gpu in 0 1 2 3; do mknod $run/gpu$gpu c 1 3; done # fake: /dev/null under another name
for node in n1 n2; do echo "NodeName=$node Name=gpu File=$run/gpu[0-3]"; done > $run/gres.conf

dd if=/dev/urandom of=$run/munge.key bs=128 count=1 status=none
chmod 600 $run/munge.key
munged --key-file=$run/munge.key --log-file=$run/munged.log --pid-file=$run/munged.pid \
    --seed-file=$run/munged.seed --force

slurmctld -D > "$state/slurmctld.log" 2>&1 &
for node in n1 n2; do
    # Each node has its own /tmp, where PMIx keeps its sockets, but sees the trees under test.
    nsenter --net=/run/netns/$node unshare --mount --uts \
        "$here/node.sh" $node "$here/../.." "$build" "$state" > "$state/slurmd.$node.log" 2>&1 &
done
until [ "$(sinfo --noheader --states=idle --format=%D 2> /dev/null)" = 2 ]; do sleep 0.1; done
touch "$state/used" "$state/ready"
until left_s=$(($(stat --format=%Y "$state/used") + idle_s - $(date +%s))); ((left_s <= 0)); do sleep "$left_s"; done
rm "$state/ready"
