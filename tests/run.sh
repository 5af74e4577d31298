#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests of every landing; tests/long.sh runs the others. Behind ctest's closing lines
# stand what was left out, and how long it took, beside the speed of the machine.
#   tests/run.sh [ctest arguments]      e.g.  tests/run.sh -R kernels
# nvcc compiles the CUDA backend only where a GPU is visible, where CUDA=ON asks for it, or where sources of the backend differ from those
# that were checked last (tests/cuda_sources.py). Tests compile its kernels as plain C++ in any case.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake/install-packages.sh cmake/packages.txt cmake/packages-tests.txt
options=(-DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_TESTS=ON)
# Several sources as one compile in half the time. A build that is there keeps its way, or all of it would be compiled again.
[ -e build/CMakeCache.txt ] || options+=(-DCMAKE_UNITY_BUILD=ON)

# A folder that is there keeps the backend or its lack.
leaves_cuda_out() {
    if [ -e build/CMakeCache.txt ]; then
        grep -q '^LOCKSTEP_CUDA:STRING=OFF' build/CMakeCache.txt
    else
        [ "${CUDA-}" != ON ] && [ ! -e /dev/nvidiactl ] && tests/cuda_sources.py --check
    fi
}
if command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
    if leaves_cuda_out; then
        echo "The CUDA backend is left out: nvcc has compiled these sources before (in a new folder, CUDA=ON tests/run.sh builds it)"
        options+=(-DLOCKSTEP_CUDA=OFF)
    else
        # Where the CUDA backend is built, cuDNN's attention is, too, and what its kernels need is looked at.
        frontend=$(cmake/cudnn-frontend.sh build/cudnn-frontend)
        [ -z "$frontend" ] || options+=(-DCUDNN_FRONTEND_INCLUDE_DIR="$frontend")
        cuobjdump=$(cmake/cuobjdump.sh build/cuobjdump)
        [ -z "$cuobjdump" ] || options+=(-DLOCKSTEP_CUOBJDUMP="$cuobjdump")
    fi
fi
begin=$SECONDS
cmake -S . -B build -G Ninja "${options[@]}" > build-configure.log 2>&1 \
    || { cat build-configure.log; exit 1; }
rm -f build-configure.log
cmake --build build -- --quiet
built=$SECONDS
[ $# -gt 0 ] || set -- --label-exclude '^long$'
# Many tests wait for processes and time-outs most of the time, so that two at once take half as long.
result=0
ctest --test-dir build --output-on-failure --no-tests=error --parallel 2 "$@" || result=$?
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
