#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# faulty_network.sh FAULT PROGRAM [ARGS]: runs three ranks of the program, each in a network of its own, with
# network_hub between them, and disturbs the network. Prints "rank R code N" for each, "left N" for processes that
# stay, and how often each kind of disturbance happened. The model folder is $MODEL. Needs root and /dev/net/tun; ends
# with 77 where that is missing.
set -u
fault=$1; shift
ranks="0 1 2" port=29700
declare -A process holder
folder=$(mktemp -d)

clean_up() {
    local rank
    for rank in $ranks; do
        [ -n "${process[$rank]:-}" ] && kill -KILL "${process[$rank]}"
        kill -KILL "${holder[$rank]}"
    done
    [ -n "${hub:-}" ] && kill -KILL "$hub"
    rm -rf "$folder"
} 2> /dev/null
trap clean_up EXIT

inside() { nsenter --net="/proc/${holder[$1]}/ns/net" "${@:2}"; }
address() { echo "10.98.0.$(($1 + 1))"; }
tell() { echo "$*" >&9; }

# A network namespace lives as long as the process that holds it.
make_networks() {
    local rank
    for rank in $ranks; do
        unshare --net sleep infinity &
        holder[$rank]=$!
        until [ "$(readlink "/proc/${holder[$rank]}/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do
            kill -0 "${holder[$rank]}" || exit 77
            sleep 0.02
        done
    done
    mkfifo "$folder/commands"
    exec 9<> "$folder/commands"
    network_hub "${holder[0]}" "${holder[1]}" "${holder[2]}" < "$folder/commands" >> "$folder/hub" &
    hub=$!
    until grep -qs ready "$folder/hub"; do
        kill -0 "$hub" 2> /dev/null || exit 77
        sleep 0.02
    done
    for rank in $ranks; do
        inside "$rank" ip addr add "$(address "$rank")/24" dev eth0
        inside "$rank" ip link set eth0 up
        inside "$rank" ip link set lo up
    done
}

start() {
    RANK=$1 WORLD_SIZE=3 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=$(address 0) MASTER_PORT=$port \
        LOCKSTEP_SECRET=of-the-ranks-of-this-run inside "$1" "${program[@]}" -mf "$MODEL" 9>&- &
    process[$1]=$!
}

wait_for_training() {
    until [ -s "$MODEL/metrics.jsonl" ]; do
        kill -0 "${process[0]}" 2> /dev/null || return
        sleep 0.05
    done
    sleep 1
}

ports_of() { inside "$1" ss -Hltn | sed -E 's/.*:([0-9]+) .*/\1/'; }

# Sends what no rank sends to each port at which a rank listens, and leaves one connection open.
scan() {
    local rank port
    for rank in $ranks; do
        for port in $(ports_of "$rank"); do
            ! inside $((rank == 0)) bash -c "exec 3<> /dev/tcp/$(address "$rank")/$port && $1" \
                || echo scanned >> "$folder/hub"
        done
    done
} 2> /dev/null
scan_for_a_while() {
    until [ -n "$(ports_of 0)" ]; do sleep 0.02; done
    for _ in 1 2 3 4 5; do
        scan 'head -c 100000 /dev/urandom >&3'
        scan 'printf "GET / HTTP/1.1\r\n\r\n" >&3'
        scan 'printf "\0\0\0\4" >&3'
        scan 'true'
        scan 'sleep 20 &'
    done
}

disturb() {
    local next
    case $fault in
        loss) wait_for_training; tell loss 5 ;;
        delay) ;;
        mute) wait_for_training; tell cut 1 0; tell cut 1 2 ;;
        deaf) wait_for_training; tell cut 0 1; tell cut 2 1 ;;
        reset)
            wait_for_training
            # The stores of rank 0 alone listen then; Gloo does not any more.
            for next in $(ports_of 0) $(ports_of 0); do
                tell reset 1 "$next" 500
                sleep 1
            done
            ;;
        reset_all) wait_for_training; tell reset 1 0 500 ;;
        late) sleep 3; start 2 ;;
        never) ;;
        # Gloo takes the first connection for a rank's in the moment when it connects the ranks, which is left out.
        scanner) scan_for_a_while; start 2; wait_for_training; scan_for_a_while ;;
        *) echo "no such fault: $fault" >&2; exit 2 ;;
    esac
} > /dev/null

program=("$@")
make_networks
[ "$fault" != delay ] || tell delay 30
for rank in $ranks; do
    [[ $rank = 2 && "late never scanner" = *"$fault"* ]] || start "$rank"
done
disturb
for rank in $ranks; do
    [ -n "${process[$rank]:-}" ] || continue
    wait "${process[$rank]}"
    echo "rank $rank code $?"
    process[$rank]=
done
echo "left $(pgrep -fc -- "-mf $MODEL")"
for event in lost delayed cut reset scanned; do echo "$event $(grep -c "$event" "$folder/hub")"; done
