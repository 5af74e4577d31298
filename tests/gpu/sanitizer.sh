# Sourced by the steps of compute-sanitizer.
source "$here/test_files.sh"

# Refused calls are what some tests are about; races in libraries' kernels are not ours.
options_of() {
    case $1 in
        memcheck) echo "--report-api-errors no" ;;
        racecheck) echo "--kernel-name kns=lockstep" ;;
    esac
}

# sanitized TOOL: the words before the tests' own.
sanitized() {
    local found toolkit=${CUDA_HOME:-/usr/local/cuda}
    if [ "$mode" = dry ]; then
        echo env
    elif found=$(command -v compute-sanitizer ||
        ls "$toolkit"/{bin/,compute-sanitizer/,extras/compute-sanitizer/}compute-sanitizer 2> /dev/null | grep -m 1 .); then
        echo "$found --tool $1 --error-exitcode 9 --print-limit 20 --require-cuda-init no $(options_of "$1")"
    fi
}

# sanitize TOOL: the kernel tests under it. In a dry run the shortest stands for all.
sanitize() {
    local words some=()
    needs cuBLASLt
    words=$(sanitized "$1")
    [ -n "$words" ] || not_run "there is no compute-sanitizer here"
    [ "$mode" = gpu ] || some=("--source-file=*/index_test.cpp")
    if [ "$1" = racecheck ]; then
        # Under racecheck a test takes a hundred times as long. It fails in cuBLASLt's kernels for Hopper by itself.
        local cases_at_once=4 file
        [ "$mode" = dry ] || for file in linear_test.cpp linear_activation_test.cpp product_test.cpp; do
            printf '%s\t%s\n' $file "racecheck fails in cuBLASLt's kernels" >> left_out
        done
    fi
    by_file kernels "$words" "${some[@]}"
}
