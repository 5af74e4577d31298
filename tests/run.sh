#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test; the closing lines are ctest's.
#   tests/run.sh [ctest arguments]      e.g.  tests/run.sh -R kernels
set -euo pipefail
cd "$(dirname "$0")/.."
cmake/install-packages.sh cmake/packages.txt cmake/packages-tests.txt
options=(-DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_TESTS=ON)
# Several sources as one compile in half the time. A build that is there keeps its way, or all of it would be compiled again.
[ -e build/CMakeCache.txt ] || options+=(-DCMAKE_UNITY_BUILD=ON)
# Where the CUDA backend is built, cuDNN's attention is, too, and what its kernels need is looked at.
if command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
    frontend=$(cmake/cudnn-frontend.sh build/cudnn-frontend)
    [ -z "$frontend" ] || options+=(-DCUDNN_FRONTEND_INCLUDE_DIR="$frontend")
    cuobjdump=$(cmake/cuobjdump.sh build/cuobjdump)
    [ -z "$cuobjdump" ] || options+=(-DLOCKSTEP_CUOBJDUMP="$cuobjdump")
fi
cmake -S . -B build -G Ninja "${options[@]}" > build-configure.log 2>&1 \
    || { cat build-configure.log; exit 1; }
rm -f build-configure.log
cmake --build build -- --quiet
# Many tests wait for processes and time-outs most of the time, so that two at once take half as long.
exec ctest --test-dir build --output-on-failure --no-tests=error --parallel 2 "$@"
