#!/usr/bin/env bash
# Packs what tests/gpu/run.sh needs on a machine with a GPU into one file: the programs, stripped, the
# libraries that they need of this system with its glibc, which serves where the other machine's is older
# (cmake/portable.sh), and the data of the tests. CUDA's own libraries are the other machine's.
#   tests/gpu/bundle.sh [--build DIR | --architectures LIST] [--cuda 12] [--out FILE]
# --build: a folder where the target gpu_bundle is built; else it is built under build/gpu.
# --cuda 12: by the toolkit that cmake/cuda-12.sh fetches, in build/gpu-12, for drivers from 525 on; else by the nvcc that
# CMake finds: CUDA 13 asks for driver 580
# --architectures: of CUDA (CMAKE_CUDA_ARCHITECTURES), when build/gpu is made: 90a for Hopper alone, in about half of the time
set -euo pipefail
cd "$(dirname "$0")/../.."

max_mib=60
build='' architectures='' toolkit='' out=build/lockstep-gpu.tar.gz
while [ $# -gt 0 ]; do
    case $1 in
        --build) build=${2:?--build needs a folder} ;;
        --architectures) architectures=${2:?--architectures needs a list} ;;
        --cuda) toolkit=${2:?--cuda needs 12} ;;
        --out) out=${2:?--out needs a file} ;;
        *) echo "bundle.sh: $1 is unknown: bundle.sh [--build DIR | --architectures LIST] [--cuda 12] [--out FILE]" >&2; exit 2 ;;
    esac
    shift 2
done

[ -z "$toolkit" ] || [ "$toolkit" = 12 ] || { echo "bundle.sh: --cuda $toolkit: only 12 can be fetched" >&2; exit 2; }
if [ -z "$build" ]; then
    build=build/gpu${toolkit:+-$toolkit}
    cmake/install-packages.sh cmake/packages.txt cmake/packages-tests.txt
    frontend=$(cmake/cudnn-frontend.sh "$build/cudnn-frontend")
    options=(${architectures:+-DCMAKE_CUDA_ARCHITECTURES="$architectures"})
    [ -z "$toolkit" ] || options+=(-DCMAKE_CUDA_COMPILER="$(cmake/cuda-12.sh build/cuda-12)/bin/nvcc")
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
mkdir -p "$root"/{bin,lib/emulated,unpack/bin}
for program in "${programs[@]}"; do
    strip -o "$root/bin/$(basename "$program")" "$program"
done
find "$build/bin" -type l -lname lockstep -exec cp -P {} "$root/bin/" \;
cmake/portable.sh "$root" "$build"

# Libraries of the build play CUDA's: beside the others they would hide the real ones.
for library in $(ldd "${programs[@]}" | awk -v build="$build/" '$2 == "=>" && index($3, build) == 1 {print $3}' | sort -u); do
    strip -o "$root/lib/emulated/$(basename "$library")" "$library"
done

# The GPU's machine need not have xz, nor a glibc for this one.
cp -L "$(command -v xz)" "$root/unpack/bin/xz"
cmake/portable.sh "$root/unpack"
cp -an "$root"/unpack/lib/* "$root/lib/"
rm -r "$root/unpack/lib"
ln -s ../lib "$root/unpack/lib"
ln -s unpack/bin/xz "$root/xz"

# Every program holds the same kernels for all GPUs, already compressed: only a window that spans a whole program
# finds them again.
tar -C "$root" --owner=0 --group=0 --sort=name -c bin libexec |
    xz --threads=1 --lzma2=preset=1,dict=128MiB > "$root/bin.tar.xz"
rm -r "${root:?}/bin" "$root/libexec"

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
if [ "$mib" -gt "$max_mib" ]; then
    echo "bundle.sh: $out has $mib MiB, more than $max_mib: what is large in it? (tar -tvzf $out | sort -nk3)" >&2
    exit 1
fi
echo "$out: $mib MiB, ${#programs[@]} programs, $(find "$root/lib" -type f -name "*.so.*" | wc -l) libraries, glibc $(getconf GNU_LIBC_VERSION | cut -d " " -f 2), $attention"
