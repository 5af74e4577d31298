#!/usr/bin/env bash
# Makes a wheel for pip from a build: packaging/wheel.sh [BUILD [FOLDER]], FOLDER being dist. It needs no package of Python.
# The program in it runs on any x86-64 Linux with glibc 2.31 or newer and brings its libraries, not CUDA's nor MPI.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
build=${1:-$here/../build} folder=${2:-dist}
[ -x "$build/bin/lockstep" ] || { echo "wheel.sh: $build has no bin/lockstep; build first (CONTRIBUTING.md), or name the folder of a build" >&2; exit 2; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cmake --install "$build" --prefix "$tree" --component lockstep --strip > "$tree/log" || { cat "$tree/log" >&2; exit 1; }
rm "$tree/log"
"$here/../cmake/portable.sh" "$tree"
python3 "$here/make_wheel.py" "$tree" "$folder"
