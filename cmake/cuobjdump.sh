#!/usr/bin/env bash
# Prints the path of cuobjdump, which tells what compiled kernels need: the toolkit's, or that of the package of PyPI in
# FOLDER, which is fetched there once. Without pip or PyPI it says so on standard error and prints nothing.
#   cmake/cuobjdump.sh FOLDER
set -euo pipefail
case ${1:--} in -*) echo "usage: cmake/cuobjdump.sh FOLDER" >&2; exit 2 ;; esac
mkdir -p "$1" || { echo "cuobjdump.sh: $1: the folder cannot be made: name another one" >&2; exit 2; }
folder=$(realpath "$1")
found() { find "$folder" -path '*/bin/cuobjdump' 2> /dev/null | head -1; }
own=$(PATH=$PATH:/usr/local/cuda/bin command -v cuobjdump || true)
if [ -z "$own" ] && [ -z "$(found)" ] &&
    ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --upgrade \
        --target "$folder" nvidia-cuda-cuobjdump >&2; then
    echo "nvidia-cuda-cuobjdump cannot be fetched from PyPI: what kernels need is not looked at" >&2
    exit 0
fi
echo "${own:-$(found)}"
