#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# four_hosts.sh FAULT PROGRAM [ARGS]: runs four ranks of the program, each on a host h1..h4 of its own
# (names and network are; the files are shared). FAULT is a command that may say `inside N COMMAND` for
# the N-th host. Prints "rank R code N" for each. Needs root.
set -u
fault=$1; shift
name=ld$$
bridge=${name}br
hosts="1 2 3 4"

clean_up() {
    for host in $hosts; do
        [ -n "${process[$host]:-}" ] && kill -KILL "${process[$host]}" 2> /dev/null
        [ -n "${holder[$host]:-}" ] && kill -KILL "${holder[$host]}" 2> /dev/null
        ip link del "${name}v$host" 2> /dev/null
    done
    ip link del "$bridge" 2> /dev/null
}
declare -A process holder
trap clean_up EXIT

# A namespace lives as long as the process that holds it.
make_host() {
    unshare --net --uts sleep infinity &
    holder[$1]=$!
    disown # says nothing of its end
    until [ "$(readlink "/proc/${holder[$1]}/ns/uts")" != "$(readlink /proc/self/ns/uts)" ]; do
        kill -0 "${holder[$1]}" || exit 77
        sleep 0.02
    done
}
inside() { nsenter --target "${holder[$1]}" --net --uts "${@:2}"; }

ip link add "$bridge" type bridge && ip link set "$bridge" up || exit 77
for host in $hosts; do
    make_host "$host"
    inside "$host" hostname "h$host"
    ip link add "${name}v$host" type veth peer name eth0 netns "${holder[$host]}" || exit 77
    ip link set "${name}v$host" master "$bridge" up
    inside "$host" ip addr add "10.97.0.$host/24" dev eth0
    inside "$host" ip link set eth0 up
    inside "$host" ip link set lo up
done
eval "$fault" || exit 77

for host in $hosts; do
    RANK=$((host - 1)) WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.97.0.1 \
        MASTER_PORT=29750 LOCKSTEP_SECRET=of-the-ranks-of-$name nsenter --target "${holder[$host]}" --net --uts "$@" &
    process[$host]=$!
done
for host in $hosts; do
    wait "${process[$host]}"
    echo "rank $((host - 1)) code $?"
    process[$host]=
done
