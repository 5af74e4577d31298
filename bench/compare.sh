#!/usr/bin/env bash
# Compares Lockstep with PyTorch and transformers, in turns on this machine. Prints the tables of docs/performance.md.
#   bench/compare.sh [--rounds 3] [--steps 5] [--rows 'seq2seq-*,...'] [--out FILE] [--write docs/performance.md]
# TORCH_PYTHON names a Python that has torch and transformers; if it is not set, a virtual environment is made once, under build/.
# A package that is missing (cmake/packages-bench.txt) is installed; without root, the line to type is printed.
# BENCH_BUILD names the build folder, which is otherwise build/bench-release.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake/install-packages.sh cmake/packages.txt
cmake/install-packages.sh cmake/packages-bench.txt || echo "going on without them" >&2
build=${BENCH_BUILD:-build/bench-release}
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_TESTS=OFF > /dev/null
cmake --build "$build" --target bench_generate bench_train_step lockstep -- --quiet

python=${TORCH_PYTHON:-$(bench/torch_environment.sh)/bin/python}
exec "$python" bench/compare.py --bin "$build/bin" --work "$build/compare" "$@"
