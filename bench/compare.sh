#!/usr/bin/env bash
# Compares Lockstep with PyTorch and transformers, in turns on this machine. Prints the tables of docs/performance.md.
#   bench/compare.sh [--rounds 3] [--steps 5] [--rows seq2seq-bf16,...] [--out FILE] [--write docs/performance.md]
# TORCH_PYTHON names a Python that has torch and transformers; if it is not set, a virtual environment is made once, under build/.
# BENCH_BUILD names the build folder, which is otherwise build/bench.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BENCH_BUILD:-build/bench}
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_TESTS=OFF > /dev/null
cmake --build "$build" --target bench_generate bench_train_step lockstep > /dev/null

python=${TORCH_PYTHON:-$PWD/build/torch/bin/python}
if [ ! -x "$python" ]; then
    echo "making a Python environment with PyTorch in build/torch" >&2
    python3 -m venv build/torch
    build/torch/bin/pip install --quiet torch numpy safetensors transformers --extra-index-url https://download.pytorch.org/whl/cpu
fi
exec "$python" bench/compare.py --bin "$build/bin" --work "$build/compare" "$@"
