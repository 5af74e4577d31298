# shellcheck shell=bash
# lockstep doctor on two nodes: nothing is wrong, then one planted fault after another.
source "$(dirname "$0")/../checks.sh"
doctor=(lockstep doctor --data "$work/data" -mf "$model" --n-layers 1 --n-heads 2 --embedding-size 16
    --ffn-size 16 --timeout 10)
none=("${two_nodes[@]}" --mpi=none)
trap 'undo=${undo:-true}; $undo' EXIT
on_node() { nsenter --target "$(cat "/run/cluster/$1/pid")" --mount --net --uts "${@:2}"; }

sound() { # SOURCE
    says "lockstep doctor: 8 ranks on 2 hosts, placed by $1"
    count 4 "^ +[0-3] +n1 +[0-3]/4 +$1 "
    count 4 "^ +[4-7] +n2 +[0-3]/4 +$1 "
    count 1 "^ +n1 +n2 +10.77.0.2 "
    count 1 "^ +n2 +n1 +10.77.0.1 "
    says "n1 - n2: "
    count 6 "^  rank [0-3] - [1-3] on n1: "
    says "ring of all ranks: "
    says "4 shards opened over all hosts, 160 of 160 rows read"
    says "verdict: a run can start"
}
expect 0 "${none[@]}" "${doctor[@]}"
sound slurm
expect 0 "${two_nodes[@]}" --mpi=pmix "${doctor[@]}"
sound mpi
expect 0 mpirun --mca plm rsh --mca plm_rsh_agent "$here/remote_shell.sh" \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 \
    -np 8 --host n1:4,n2:4 "${doctor[@]}"
sound mpi
expect 0 srun -N2 --ntasks-per-node=1 --mpi=none \
    distributed_launch --nnodes 2 --nproc-per-node 4 "${doctor[@]}"
sound torchrun
expect 0 "${none[@]}" "${doctor[@]}" --interface eth1
count 1 "^ +n1 +n2 +10.78.0.2 +n2-second "

# A name that means another host's address: that of rank 0 keeps the ranks apart, another is a warning.
hosts_of_n2() {
    sed "$1" /run/cluster/hosts > "$work/hosts.wrong"
    on_node n2 mount --bind "$work/hosts.wrong" /etc/hosts
    undo="on_node n2 umount /etc/hosts"
}
hosts_of_n2 's/^10.77.0.1 n1$/10.77.0.9 n1/'
expect 1 "${none[@]}" "${doctor[@]}" --timeout 3
says "PROBLEM [meeting] rank 4 on n2: cannot meet the other ranks"
says "seen from n2: 10.77.0.9 port"
says "PROBLEM [ranks] rank 4-7: did not come to rank 0"
$undo
hosts_of_n2 's/^10.77.0.2 n2$/10.77.0.9 n2/'
expect 0 "${none[@]}" "${doctor[@]}"
says "warning [names] on n2: the name n2 means 10.77.0.9, which is not that host's (it has 10.77.0.2"
$undo
hosts_of_n2 's/^10.77.0.1 n1$/10.77.0.1 n2 n1/'
expect 0 "${none[@]}" "${doctor[@]}"
says "warning [names] on n2: the address 10.77.0.1 of n1 has the name n2, which is another host's"
$undo

# No way from one node to the other.
ip -n n2 route add unreachable 10.77.0.1/32
undo="ip -n n2 route del unreachable 10.77.0.1/32"
expect 1 "${none[@]}" "${doctor[@]}" --timeout 3
says "seen from n2: 10.77.0.1 port"
says "No route to host"
$undo

# A slow cable.
ip netns exec n2 tc qdisc add dev eth0 root tbf rate 40mbit burst 32kbit latency 20ms
undo="ip netns exec n2 tc qdisc del dev eth0 root"
expect 0 "${none[@]}" "${doctor[@]}"
says "warning [rates] between n1 and n2: TCP carries "
says ", less than half of gigabit Ethernet"
$undo

# A shard that is damaged on one node alone; one that differs; one that is not there.
data_of_n2() {
    rm -rf "$work/data.n2"
    cp -r "$work/data" "$work/data.n2"
    "$@"
    on_node n2 mount --bind "$work/data.n2" "$work/data"
    undo="on_node n2 umount $work/data"
}
shard="train-00000-of-00001.h5"
data_of_n2 dd if=/dev/zero of="$work/data.n2/$shard" bs=64 seek=100 count=40 conv=notrunc status=none
expect 1 "${none[@]}" "${doctor[@]}"
says "PROBLEM [data] rank 4 on n2: $work/data/$shard: "
$undo
data_of_n2 rm "$work/data.n2/$shard"
expect 0 "${none[@]}" "${doctor[@]}"
says "warning [data] rank 4 on n2: $work/data/$shard is not there, but on other hosts"
$undo
data_of_n2 lockstep prepare --format parlai --input "$work/text.txt" --out "$work/data.n2" --shards 1 \
    --dict-minfreq 2 --overwrite
expect 1 "${none[@]}" "${doctor[@]}"
says "PROBLEM [data] rank 4-7 on n2: $work/data holds another data set than on rank 0"
$undo
undo=true

# An output folder that each node has for itself, and one that takes no file.
expect 1 "${none[@]}" "${doctor[@]}" -mf /tmp/model
says "PROBLEM [folder] rank 4 on n2: /tmp: a file that rank 0 wrote there is not seen here"
expect 1 "${none[@]}" "${doctor[@]}" -mf /proc/model
says "PROBLEM [folder] rank 0 on n1: -mf /proc/model"

# Limits of the processes themselves.
expect 1 "${none[@]}" bash -c "ulimit -n 48; exec ${doctor[*]}"
says "PROBLEM [limits] every rank on n1, n2: at most 48 open files"
expect 0 "${none[@]}" unshare --mount bash -c "mount -t tmpfs -o size=1m none /dev/shm; exec ${doctor[*]}"
says "warning [memory] every rank on n1, n2: /dev/shm has 1 MiB free"
expect 0 "${none[@]}" taskset --cpu-list 0 "${doctor[@]}"
says "warning [cores] rank 4-7 on n2: all bound to the same single core 0"

# A rank that never starts.
expect 1 "${none[@]}" bash -c "[ \$SLURM_PROCID != 5 ] || exit 0; exec ${doctor[*]} --timeout 3"
says "PROBLEM [ranks] rank 5: did not come to rank 0"
says "verdict: a run would fail here: 1 problem"

expect 1 "${none[@]}" "${doctor[@]}" -mf /proc/model --json
grep -v '^srun:' <<< "$output" > doctor.json
python3 -c 'import json; d = json.load(open("doctor.json")); assert d["would_break"] and len(d["ranks"]) == 8'
expect 2 "${none[@]}" "${doctor[@]}" --timeout 0
