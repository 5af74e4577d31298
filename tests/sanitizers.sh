#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the unit tests with sanitizers and runs them; the closing lines of each run are ctest's.
#   tests/sanitizers.sh [address|long|thread|build [address|thread]...]     without a word: address and thread
# address: every program that holds code of the project, ranks as threads included, with the address and the
# undefined-behaviour sanitizer; memory that is not given back is a finding. The fuzzers run here, too.
# long: the same for the CUDA backend on the emulated GPU, which takes more than a quarter of an hour.
# thread: the programs whose threads meet (communicators, reducer, workers, watchdog, checkpoint writer).
# build: builds what address and thread run, in the order of the words behind it, and runs nothing.
# A program ends with its first finding.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake/install-packages.sh cmake/packages.txt cmake/packages-tests.txt

usage() {
    echo "tests/sanitizers.sh [address|long|thread|build [address|thread]...]" >&2
    exit 2
}

# build PRESET TARGET: configures and builds.
build() {
    local log
    log=$(mktemp)
    cmake --preset "$1" > "$log" 2>&1 || { cat "$log"; exit 1; }
    rm "$log"
    cmake --build --preset "$1" --target "$2" -- --quiet
}

# check PRESET TARGET [TESTS]: builds and tests.
check() {
    build "$1" "$2"
    "${fixed_addresses[@]}" ctest --preset "${3-$1}" --parallel 2
}

# GCC 12's thread sanitizer ends at the start where the kernel moves programs further than it expects.
fixed_addresses=()
! setarch --addr-no-randomize true 2> /dev/null || fixed_addresses=(setarch --addr-no-randomize)

[ $# -le 1 ] || [ "$1" = build ] || usage
case ${1-} in
'')
    check asan-ubsan unit_tests
    check tsan thread_tests
    ;;
build)
    [ $# -gt 1 ] || set -- build address thread
    for sanitizer in "${@:2}"; do [[ $sanitizer =~ ^(address|thread)$ ]] || usage; done
    for sanitizer in "${@:2}"; do
        case $sanitizer in
        address) build asan-ubsan unit_tests ;;
        thread) build tsan thread_tests ;;
        esac
    done
    ;;
address) check asan-ubsan unit_tests ;;
long) check asan-ubsan long_unit_tests asan-ubsan-long ;;
thread) check tsan thread_tests ;;
*) usage ;;
esac
