# Sourced by every step, which run.sh starts in an empty folder of its own with
#   root    the unpacked bundle
#   mode    gpu, or dry: without a GPU, by what stands in for it
#   seconds that it has
#   preflight  what there is of GPUs and libraries
# Exit codes: 0 passed (but for the lines of the file `but`), 76 incomplete, 77 not run (the last line says why),
# others failed. The page has the commands that show() says and the step's table.md; what the step moves to keep/ is
# in logs.tar.gz.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/machine.sh"
source "$here/preflight.sh"
step_folder=$PWD
exec 3>&1  # the step's log, also where a command's output goes elsewhere

# Whoever runs the steps may be a job of Slurm or MPI.
for name in $(compgen -e); do
    case $name in SLURM_* | PMI_* | PMIX_* | OMPI_COMM_WORLD_* | RANK | WORLD_SIZE | LOCAL_* | MASTER_*) unset "$name" ;; esac
done

# show COMMAND...: says the command, and runs it.
show() {
    local IFS=' '
    printf '$ %s\n' "$*" >&3
    "$@"
}

incomplete() { echo "$*" >&3; exit 76; }

not_run() { echo "$*" >&3; exit 77; }

# needs PART...: of preflight, beside a GPU; without one of them the step cannot run.
needs() {
    local why
    [ "$mode" = gpu ] || return 0
    why=$(wanting_gpu)
    [ -n "$why" ] || why=$(wanting "$@")
    [ -z "$why" ] || not_run "$why"
}

# failed WHAT [FILE]: ends the step, with the end of a program's output.
failed() {
    [ -z "${2:-}" ] || tail -n 30 "$2" >&3
    echo "$1" >&3
    exit 1
}

in_root() { (cd "$root" && "$@"); }

# run_tests NAME [DOCTEST ARGUMENT...]: NAME_cuda_tests, or in a dry run NAME_cuda_emulated_tests; after the
# words in $before.
run_tests() {
    local name=$1
    shift
    # shellcheck disable=SC2086 # $before is several words or none.
    if [ "$mode" = dry ]; then
        in_root with_emulated_libraries show ${before:-} "bin/${name}_cuda_emulated_tests" "$@"
    else
        in_root with_libraries show ${before:-} "bin/${name}_cuda_tests" "$@"
    fi
}
