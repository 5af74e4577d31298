#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the virtual environment build/torch with PyTorch and transformers, or completes it, and prints its path.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=$PWD/build/torch
if ! "$environment/bin/python" -c 'import numpy, safetensors, torch, transformers' 2> /dev/null; then
    echo "making a Python environment with PyTorch in build/torch" >&2
    python3 -m venv "$environment"
    pip=("$environment/bin/pip" --quiet --disable-pip-version-check)
    # PyPI's PyTorch brings gigabytes for GPUs, so it is taken only where PyTorch's own index cannot be reached.
    "${pip[@]}" install --retries 1 torch --index-url https://download.pytorch.org/whl/cpu >&2 || "${pip[@]}" install torch >&2
    "${pip[@]}" install numpy safetensors transformers >&2
fi
echo "$environment"
