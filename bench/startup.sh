#!/usr/bin/env bash
# Measures the start-up of a run until its first step: two ranks compared with torchrun, and, as root, eight ranks
# on the two Slurm nodes of tests/cluster compared with the smallest MPI program. Prints tables of docs/performance.md.
#   bench/startup.sh [--rounds 5]
# TORCHRUN names PyTorch's torchrun; if it is not set, a virtual environment is made once, under build/.
# BENCH_BUILD names the build folder, which is otherwise build/bench-release.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake/install-packages.sh cmake/packages.txt
cmake/install-packages.sh cmake/packages-bench.txt || echo "going on without them" >&2
build=$(realpath -m "${BENCH_BUILD:-build/bench-release}")
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_TESTS=OFF > /dev/null
cmake --build "$build" --target lockstep lockstep_mpi bench_smallest_mpi -- --quiet

torchrun=${TORCHRUN:-$(bench/torch_environment.sh)/bin/torchrun}
python3 bench/startup.py local --bin "$build/bin" --torchrun "$torchrun" "$@"

if [ "$(id -u)" != 0 ]; then
    echo "the two nodes need root: not measured"
    exit 0
fi
state=$(mktemp -d)
trap 'tests/cluster/cluster.sh stop "$state"; rm -rf "$state"' EXIT
tests/cluster/cluster.sh start "$state" "$build"
mkdir -p "$state/work"
tests/cluster/in_cluster.sh "$state" "$build" python3 "$PWD/bench/startup.py" cluster --bin "$build/bin" \
    --mpi "$build/bin/bench_smallest_mpi" --work "$state/work" "$@"
