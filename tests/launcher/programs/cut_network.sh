#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cut_network.sh VICTIM PROGRAM [ARGS]: runs three ranks of the program, each behind a network cable of
# its own, and pulls the victim's after a while of training. Prints "rank R code N" for each. The
# model folder is $MODEL. Needs root.
set -u
victim=$1; shift
name=ls$$
bridge=${name}br
ranks="0 1 2"

clean_up() {
    for rank in $ranks; do
        [ -n "${process[$rank]:-}" ] && kill -KILL "${process[$rank]}" 2> /dev/null
        [ -n "${holder[$rank]:-}" ] && kill -KILL "${holder[$rank]}" 2> /dev/null
        ip link del "${name}v$rank" 2> /dev/null
    done
    ip link del "$bridge" 2> /dev/null
}
declare -A process holder
trap clean_up EXIT

# A network namespace lives as long as the process that holds it: no mounts, which a container or a
# changed root may not allow.
make_space() {
    unshare --net sleep infinity &
    holder[$1]=$!
    until [ "$(readlink "/proc/${holder[$1]}/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do
        kill -0 "${holder[$1]}" || exit 77
        sleep 0.02
    done
}
inside() { nsenter --net="/proc/${holder[$1]}/ns/net" "${@:2}"; }

ip link add "$bridge" type bridge && ip link set "$bridge" up || exit 77
for rank in $ranks; do
    make_space "$rank"
    ip link add "${name}v$rank" type veth peer name eth0 netns "${holder[$rank]}" || exit 77
    ip link set "${name}v$rank" master "$bridge" up
    inside "$rank" ip addr add "10.98.0.$((rank + 1))/24" dev eth0
    inside "$rank" ip link set eth0 up
    inside "$rank" ip link set lo up
done

for rank in $ranks; do
    RANK=$rank WORLD_SIZE=3 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.98.0.1 MASTER_PORT=29700 \
        LOCKSTEP_SECRET=of-the-ranks-of-$name nsenter --net="/proc/${holder[$rank]}/ns/net" "$@" -mf "$MODEL" &
    process[$rank]=$!
done
until [ -s "$MODEL/metrics.jsonl" ]; do
    kill -0 "${process[0]}" 2> /dev/null || exit 1
    sleep 0.05
done
sleep 1
ip link set "${name}v$victim" down
for rank in $ranks; do
    wait "${process[$rank]}"
    echo "rank $rank code $?"
    process[$rank]=
done
