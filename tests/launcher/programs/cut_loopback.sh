#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cut_loopback.sh PROGRAM [ARGS]: runs the program in a network of its own, and takes the network away
# after a while of training. Ends with the program's exit code. The model folder is $MODEL. Needs root.
set -u
if [ "${1:-}" != --inside ]; then
    exec unshare --net bash "$0" --inside "$@"
fi
shift
ip link set lo up || exit 77
"$@" -mf "$MODEL" &
program=$!
until [ -s "$MODEL/metrics.jsonl" ]; do
    kill -0 "$program" 2> /dev/null || exit 1
    sleep 0.05
done
sleep 1
ip link set lo down
wait "$program"
