#!/usr/bin/env bash
# Runs what takes too long for each landing. Who changes an area runs it before the change lands (CONTRIBUTING.md has the table).
#   tests/long.sh [AREA...]     without a word: all areas
# cluster: every way to start on two real Slurm nodes (as root).
# cuda: nvcc compiles the backend for all its targets; what its kernels need, cuDNN's plans, and the scripts for a host with a GPU.
# sweeps: the cases with the label `long`, and 50 rounds of killed ranks.
# sanitizers: the unit tests with both sanitizers, and the emulated GPU with the address sanitizer.
# fuzz: each fuzzer for 60 s of processor time.
# sources: clang-tidy and the includes of every source.
# Each area ends with one line, which goes into docs/reliability.md.
set -euo pipefail
cd "$(dirname "$0")/.."
areas=(cluster cuda sweeps sanitizers fuzz sources)
[ $# -gt 0 ] || set -- "${areas[@]}"
for area; do
    [[ " ${areas[*]} " == *" $area "* ]] || { echo "tests/long.sh: there is no area $area; there are ${areas[*]}" >&2; exit 2; }
done
cmake/install-packages.sh cmake/packages.txt cmake/packages-tests.txt

# in_build PRESET TARGET [CMake's options]: configures build folder and builds.
in_build() {
    local preset=$1 target=$2 log
    shift 2
    log=$(mktemp)
    cmake --preset "$preset" "$@" > "$log" 2>&1 || { cat "$log"; exit 1; }
    rm "$log"
    cmake --build --preset "$preset" --target "$target" -- --quiet
}
tested() { ctest --output-on-failure --no-tests=error --parallel 2 "$@"; }
# The folder of tests/run.sh, or a new one like it.
release() {
    [ -e build/CMakeCache.txt ] ||
        cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_TESTS=ON -DCMAKE_UNITY_BUILD=ON > /dev/null
    cmake --build build -- --quiet
}

run_cluster() {
    release
    tested --test-dir build -L '^cluster$'
}
run_cuda() {
    in_build cuda all -DCMAKE_UNITY_BUILD=ON -DCUDNN_FRONTEND_INCLUDE_DIR="$(cmake/cudnn-frontend.sh build-cuda/cudnn-frontend)" \
        -DLOCKSTEP_CUOBJDUMP="$(cmake/cuobjdump.sh build-cuda/cuobjdump)"
    cmake --build --preset cuda --target gpu_bundle -- --quiet
    tested --test-dir build-cuda -R '^(gpu_|kernel_resources|cudnn_graphs_tests|kernels_cuda|model_cuda|train_cuda|comm_cuda|emulated_gpu)'
    tests/cuda_units.py --record build-cuda
}
run_sweeps() {
    release
    tested --test-dir build -L '^long$' -LE '^cluster$' -E '^gpu_'
    tests/launcher/programs/kill_rounds.sh build/bin 50
}
run_sanitizers() {
    tests/sanitizers.sh
    tests/sanitizers.sh long
}
run_fuzz() {
    in_build asan-ubsan fuzzers
    tests/fuzz/run.sh 60 build-asan
}
run_sources() {
    release
    tests/tidy_test.sh build all
    tests/includes_test.py build all
}

for area; do
    begin=$SECONDS
    "run_$area"
    echo "tests/long.sh $area: $(git rev-parse --short HEAD), $(date -u +%F), $(nproc) x $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), passed in $((SECONDS - begin)) s"
done
