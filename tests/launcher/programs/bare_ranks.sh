#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bare_ranks.sh COUNT PORT PROGRAM [ARGS]: ranks on this host that nothing but the environment tells of
# each other, and that nobody watches over. Prints "rank R code N" for each.
set -u
count=$1 port=$2
shift 2
processes=()
for ((rank = 0; rank < count; ++rank)); do
    RANK=$rank WORLD_SIZE=$count LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$count MASTER_ADDR=127.0.0.1 \
        MASTER_PORT=$port LOCKSTEP_SECRET="of the ranks at $port" "$@" &
    processes+=($!)
done
for ((rank = 0; rank < count; ++rank)); do
    wait "${processes[rank]}" 2> /dev/null
    echo "rank $rank code $?"
done
