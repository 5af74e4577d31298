#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the virtual environment build/torch with PyTorch and transformers, or completes it, and prints its path.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=$PWD/build/torch
if ! "$environment/bin/python" -c 'import numpy, safetensors, torch, transformers' 2> /dev/null; then
    echo "making a Python environment with PyTorch in build/torch" >&2
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet torch numpy safetensors transformers \
        --extra-index-url https://download.pytorch.org/whl/cpu >&2
fi
echo "$environment"
