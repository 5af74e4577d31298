#!/usr/bin/env bash
# Two Slurm nodes on this machine, for the tests of the ways in: real slurmctld, slurmd and munged, in
# namespaces of their own (mounts, network, names, processes), so that nothing of it is seen outside and
# all of it ends with one process.
#   cluster.sh start STATE BUILD     STATE is a folder for the process id and the logs
#   cluster.sh stop STATE
# It needs root: otherwise it says so and exits 77, which ctest counts as skipped; with CI=true that is 1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/requirements.sh"
state=$2
build=${3:-$state}

# "PID START": the start time tells a process from a later one with the same number.
running() {
    local pid start
    { read -r pid start < "$state/process"; } 2> /dev/null || return 1
    [ -r "/proc/$pid/stat" ] && [ "$(started_at "$pid")" = "$start" ] && echo "$pid"
}
started_at() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20; }

stop() {
    local pid
    if pid=$(running); then
        kill -KILL "$pid" # takes the first process of the namespace along, and that everything in it
        while [ -e "/proc/$pid" ]; do sleep 0.05; done
    fi
    rm -f "$state/process" "$state/init" "$state/ready"
}

start() {
    require_cluster
    mkdir -p "$state"
    stop
    setsid unshare --mount --net --uts --ipc --pid --fork --kill-child --mount-proc \
        "$here/inside.sh" "$state" "$build" > "$state/inside.log" 2>&1 < /dev/null &
    local pid=$!
    echo "$pid $(started_at "$pid")" > "$state/process"
    for _ in $(seq 300); do
        if [ -e "$state/ready" ]; then
            pgrep -P "$pid" > "$state/init"
            exit 0
        fi
        [ -e "/proc/$pid" ] || break
        sleep 0.1
    done
    echo "the test cluster did not start; $state/inside.log says:" >&2
    tail -n 40 "$state/inside.log" >&2
    stop
    exit 1
}

case $1 in
    start) start ;;
    stop) stop ;;
    *) echo "cluster.sh start STATE BUILD | stop STATE" >&2; exit 2 ;;
esac
