#!/usr/bin/env bash
# Packs what tests/gpu/run.sh needs on a machine with a GPU into one file: the programs, stripped, the
# libraries that they need of this system, and the data of the tests. glibc is the other machine's (Debian 12's or
# newer); so are CUDA's own libraries.
#   tests/gpu/bundle.sh [--build DIR | --architectures LIST] [--out FILE]
# --build: a folder where the target gpu_bundle is built; else it is built under build/gpu.
# --architectures: of CUDA (CMAKE_CUDA_ARCHITECTURES), when build/gpu is made: 90a for Hopper alone, in a third of the time
set -euo pipefail
cd "$(dirname "$0")/../.."

most_mib=60
build='' architectures='' out=build/lockstep-gpu.tar.gz
while [ $# -gt 0 ]; do
    case $1 in
        --build) build=${2:?--build needs a folder} ;;
        --architectures) architectures=${2:?--architectures needs a list} ;;
        --out) out=${2:?--out needs a file} ;;
        *) echo "bundle.sh: $1 is unknown: bundle.sh [--build DIR | --architectures LIST] [--out FILE]" >&2; exit 2 ;;
    esac
    shift 2
done

if [ -z "$build" ]; then
    build=build/gpu
    cmake/install-packages.sh cmake/packages.txt cmake/packages-tests.txt
    frontend=$(cmake/cudnn-frontend.sh "$build/cudnn-frontend")
    options=(${architectures:+-DCMAKE_CUDA_ARCHITECTURES="$architectures"})
    [ -z "$frontend" ] || options+=(-DCUDNN_FRONTEND_INCLUDE_DIR="$frontend")
    [ -f "$build/CMakeCache.txt" ] && [ -z "$architectures" ] ||
        cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_CUDA=ON "${options[@]}" > /dev/null
    cmake --build "$build" --target gpu_bundle -- --quiet
fi
build=$(realpath "$build")
attention="with cuDNN's attention"
grep -qs '^CUDNN_FRONTEND_INCLUDE_DIR:PATH=/' "$build/CMakeCache.txt" || attention="WITHOUT cuDNN's attention (docs/cuda.md)"
list=$build/tests/gpu/programs.txt
[ -f "$list" ] || { echo "bundle.sh: $build has no tests/gpu/programs.txt: configure it with LOCKSTEP_TESTS=ON" >&2; exit 2; }
mapfile -t programs < "$list"
for program in "${programs[@]}"; do
    [ -x "$program" ] || { echo "bundle.sh: $program is missing: cmake --build $build --target gpu_bundle" >&2; exit 2; }
done

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,lib/emulated}
for program in "${programs[@]}"; do
    strip -o "$root/bin/$(basename "$program")" "$program"
done
find "$build/bin" -type l -lname lockstep -exec cp -P {} "$root/bin/" \;

# What the loader would take here, except for glibc. Libraries that only emulated programs need play CUDA's: beside
# the others they would hide the real ones.
libraries_of() {
    ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' |
        grep -v '/lib\(c\|m\|dl\|rt\|pthread\|resolv\)\.so\.[0-9]*$' | sort -u
}
emulated=() others=("$(command -v xz)")
for program in "${programs[@]}"; do
    if [[ $program == *_emulated* ]]; then emulated+=("$program"); else others+=("$program"); fi
done
libraries_of "${others[@]}" | xargs cp -L -t "$root/lib"
for library in $(libraries_of "${emulated[@]}"); do
    name=$(basename "$library")
    [ -e "$root/lib/$name" ] || strip -o "$root/lib/emulated/$name" "$library"
done

# Every program holds the same kernels for all GPUs, already compressed: only a window that spans a whole program
# finds them again. The GPU's machine need not have xz.
tar -C "$root" --owner=0 --group=0 --sort=name -c bin |
    xz --threads=1 --lzma2=preset=1,dict=128MiB > "$root/bin.tar.xz"
rm -r "$root/bin"
cp -L "$(command -v xz)" "$root/xz"

cp -r --parents tests/gpu tests/golden/model examples/shakespeare/train.txt bench/torch_peer.py \
    bench/shakespeare-lengths.txt docs/cuda.md "$root/"
changed=$(git status --porcelain 2>/dev/null | grep -vc '^??' || true)
{
    git log -1 --format='%H (%cs)' 2>/dev/null || echo "unknown (not a git checkout)"
    [ "$changed" = 0 ] || echo "with $changed changed files"
} | paste -sd ' ' > "$root/COMMIT"

mkdir -p "$(dirname "$out")"
tar -C "$root" --owner=0 --group=0 -czf "$out" .
mib=$((($(stat -c %s "$out") + 1048575) / 1048576))
if [ "$mib" -gt "$most_mib" ]; then
    echo "bundle.sh: $out has $mib MiB, more than $most_mib: what is large in it? (tar -tvzf $out | sort -nk3)" >&2
    exit 1
fi
echo "$out: $mib MiB, ${#programs[@]} programs, $(find "$root/lib" -type f | wc -l) libraries, $attention"
