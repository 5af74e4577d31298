#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests of every landing; tests/long.sh runs the others. Behind ctest's closing lines
# stand what was left out, and how long it took, beside the speed of the machine.
#   tests/run.sh [ctest arguments]      e.g.  tests/run.sh -R kernels
# The CUDA backend is built where a GPU is visible or CUDA=ON asks for it. Elsewhere nvcc, where there is one, compiles those of its
# sources that it has not compiled as they are (tests/cuda_units.py). Tests compile its kernels as plain C++ in any case.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake/install-packages.sh cmake/packages.txt cmake/packages-tests.txt
options=(-DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_TESTS=ON)
# Several sources as one compile in half the time. A build that is there keeps its way, or all of it would be compiled again.
[ -e build/CMakeCache.txt ] || options+=(-DCMAKE_UNITY_BUILD=ON)

nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc || true)
# Where the CUDA backend is compiled, cuDNN's attention is, too, and what its kernels need is looked at.
cudnn_option() { frontend=$(cmake/cudnn-frontend.sh "$1/cudnn-frontend") && echo "-DCUDNN_FRONTEND_INCLUDE_DIR=$frontend"; }
with_cuda=
if [ -e build/CMakeCache.txt ]; then  # a folder that is there keeps the backend or its lack
    grep -q '^LOCKSTEP_CUDA:STRING=OFF' build/CMakeCache.txt || with_cuda=$nvcc
elif [ "${CUDA-}" = ON ] || [ -e /dev/nvidiactl ]; then
    with_cuda=$nvcc
else
    options+=(-DLOCKSTEP_CUDA=OFF)
fi
if [ "$with_cuda" ]; then
    options+=("$(cudnn_option build)" -DLOCKSTEP_CUOBJDUMP="$(cmake/cuobjdump.sh build/cuobjdump)")
fi
compile_cuda_units() {
    local units
    units=$(tests/cuda_units.py | wc -l)
    [ "$units" -gt 0 ] || { echo "nvcc has compiled the sources of the CUDA backend as they are"; return; }
    echo "nvcc compiles $units sources of the CUDA backend, which changed (CUDA=ON tests/run.sh builds the backend in a new folder)"
    # What compiles for the oldest target compiles for the others.
    if ! CUDAARCHS=${CUDAARCHS-80} cmake --preset cuda "$(cudnn_option build-cuda)" > build-configure.log 2>&1; then
        grep -o 'LOCKSTEP_CUDA=ON, but .*' build-configure.log && return
        cat build-configure.log
        return 1
    fi
    tests/cuda_units.py --compile build-cuda
}
begin=$SECONDS
cmake -S . -B build -G Ninja "${options[@]}" > build-configure.log 2>&1 \
    || { cat build-configure.log; exit 1; }
cmake --build build -- --quiet
[ -z "$nvcc" ] || [ "$with_cuda" ] || compile_cuda_units
rm -f build-configure.log
built=$SECONDS
[ $# -gt 0 ] || set -- --label-exclude '^long$'
# Many tests wait for processes and time-outs most of the time, so that three at once keep two processors busy.
result=0
ctest --test-dir build --output-on-failure --no-tests=error --parallel 3 "$@" || result=$?
tested=$SECONDS

# Tells each reason once for which tests left something out, with the tests.
awk '/^[0-9]+\/[0-9]+ Testing: / { test = $3 }
     /^skipped: / { if (!($0 in tests)) reasons[++count] = $0; tests[$0] = tests[$0] " " test }
     END { for (i = 1; i <= count; ++i) print reasons[i] ":" tests[reasons[i]] }' build/Testing/Temporary/LastTest.log
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' build/CMakeCache.txt)
TIMEFORMAT='%R s (%U s of processor time)'
speed=$({ time CCACHE_DISABLE=1 "$compiler" -std=c++20 -O2 -c tests/support/compile_speed.cpp -o /dev/null; } 2>&1)
echo "tests/run.sh: $((built - begin)) s of building, $((tested - built)) s of testing; $(nproc) processors, one of which compiles" \
    "tests/support/compile_speed.cpp in $speed"
exit "$result"
