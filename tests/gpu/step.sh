# Sourced by every step, which run.sh starts in an empty folder of its own with
#   root    the unpacked bundle
#   mode    gpu, or dry: without a GPU, by what stands in for it
# Exit codes: 0 passed, 77 not run (the last line says why), others failed. Lines "$ COMMAND" of a step's output and
# its table.md are shown on the page.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/machine.sh"
step_folder=$PWD

# show COMMAND...: says the command, and runs it.
show() {
    local IFS=' '
    printf '$ %s\n' "$*"
    "$@"
}

not_run() { echo "$*"; exit 77; }

in_root() { (cd "$root" && "$@"); }

# run_tests NAME [DOCTEST ARGUMENT...]: NAME_cuda_tests, or in a dry run NAME_cuda_emulated_tests; after the
# words in $before.
run_tests() {
    local name=$1
    shift
    if [ "$mode" = dry ]; then
        in_root with_emulated_libraries show ${before:-} "bin/${name}_cuda_emulated_tests" "$@"
    else
        in_root with_libraries show ${before:-} "bin/${name}_cuda_tests" "$@"
    fi
}
