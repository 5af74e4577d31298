#!/usr/bin/env bash
# Runs one of ways/ inside the cluster that cluster.sh has started.
#   run_way.sh STATE BUILD NAME
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/requirements.sh"
require_cluster
[ -e "$1/ready" ] || { echo "the test cluster does not run: ctest starts it before its tests" >&2; exit 1; }
unset "${!SLURM_@}" "${!OMPI_@}" "${!PMIX_@}" LOCKSTEP_SECRET RANK WORLD_SIZE
exec nsenter --target "$(cat "$1/init")" --mount --net --uts --ipc --pid \
    env SHELL=/bin/bash SLURM_CONF=/run/cluster/slurm.conf PATH="$2/bin:$PATH:/usr/sbin" TERM=dumb \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    build="$2" work="$1/work" way="$3" bash "$here/ways/$3.sh"
