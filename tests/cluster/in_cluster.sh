#!/usr/bin/env bash
# Runs a command on the control host of the cluster that cluster.sh has started.
#   in_cluster.sh STATE BUILD COMMAND...     BUILD's programs come first on PATH
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/requirements.sh"
require_cluster
state=$1
build=$2
shift 2
[ -e "$state/ready" ] && touch "$state/used" || { echo "the test cluster does not run: cluster.sh starts it" >&2; exit 1; }
unset "${!SLURM_@}" "${!OMPI_@}" "${!PMIX_@}" LOCKSTEP_SECRET RANK WORLD_SIZE
exec nsenter --target "$(cat "$state/init")" --mount --net --uts --ipc --pid \
    env SHELL=/bin/bash SLURM_CONF=/run/cluster/slurm.conf PATH="$build/bin:$PATH:/usr/sbin" TERM=dumb \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    build="$build" work="$state/work" "$@"
