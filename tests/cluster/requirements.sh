# shellcheck shell=bash
# Sourced: whether this machine can hold the test cluster.

# Exits 77 with one line where it cannot; 1 in continuous integration, where nothing may be left out.
require_cluster() {
    local missing=""
    [ "$(id -u)" -eq 0 ] || missing="root"
    for program in slurmctld slurmd srun munged ip nsenter unshare mpirun; do
        PATH=$PATH:/usr/sbin command -v "$program" > /dev/null || missing="${missing:-$program}"
    done
    if [ -z "$missing" ] && ! unshare --mount --net --pid --fork true 2> /dev/null; then
        missing="the right to make namespaces"
    fi
    [ -n "$missing" ] || return 0
    echo "skipped: the test cluster needs $missing" >&2
    [ "${CI:-}" != true ] || exit 1
    exit 77
}
