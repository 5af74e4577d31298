#!/usr/bin/env bash
# Prints the folder of the headers of cuDNN's frontend, which only PyPI has: that of the package in FOLDER, which is
# fetched there once. Without pip or PyPI it says so on standard error and prints nothing.
#   cmake/cudnn-frontend.sh FOLDER
set -euo pipefail
case ${1:--} in -*) echo "usage: cmake/cudnn-frontend.sh FOLDER" >&2; exit 2 ;; esac
mkdir -p "$1" || { echo "cudnn-frontend.sh: $1: the folder cannot be made: name another one" >&2; exit 2; }
folder=$(realpath "$1")
if [ ! -f "$folder/include/cudnn_frontend.h" ] &&
    ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --upgrade \
        --target "$folder" nvidia-cudnn-frontend >&2; then
    echo "nvidia-cudnn-frontend cannot be fetched from PyPI: cuDNN's attention is left out" >&2
    exit 0
fi
echo "$folder/include"
