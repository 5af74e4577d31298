#!/usr/bin/env bash
# Prints the folder of a toolkit of CUDA 12.4, whose programs run with drivers from 525 on: FOLDER, where it is put
# together once of Debian 13's packages (1 GB is fetched by apt and unpacked, nothing is installed).
#   cmake -S . -B build -DCMAKE_CUDA_COMPILER="$(cmake/cuda-12.sh build/cuda-12)/bin/nvcc"
# nccl.h and cuDNN's headers, which those packages lack, are this system's.
set -euo pipefail
case ${1:--} in -*) echo "usage: cmake/cuda-12.sh FOLDER" >&2; exit 2 ;; esac
folder=$(realpath -m "$1")
if [ -x "$folder/bin/nvcc" ]; then
    echo "$folder"
    exit
fi
[ ! -e "$folder" ] || { echo "cuda-12.sh: $folder is there and holds no toolkit: name another folder" >&2; exit 2; }
mkdir -p "$folder.part" || { echo "cuda-12.sh: $folder: the folder cannot be made: name another one" >&2; exit 2; }
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f "$keys" ] || { echo "cuda-12.sh: $keys is missing: install debian-archive-keyring" >&2; exit 2; }

# apt with a world of its own, so that this system's sources stay as they are.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{state/lists/partial,cache/archives/partial,unpacked}
touch "$work/status"
mirror=$(awk '/^URIs:/ {print $2; exit} /^deb / {print $2; exit}' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2> /dev/null | head -n 1)
echo "deb [signed-by=$keys] ${mirror:-http://deb.debian.org/debian} trixie main non-free" > "$work/sources.list"
cat > "$work/apt.conf" << END
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/nonexistent";
Dir::State "$work/state";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Architectures {"amd64";};
APT::Architecture "amd64";
APT::Sandbox::User "root";
Acquire::Languages "none";
END
export APT_CONFIG=$work/apt.conf
apt-get update -qq >&2
(cd "$work" && apt-get download -qq nvidia-cuda-toolkit nvidia-cuda-dev libcu++-dev >&2)
extract() { dpkg --fsys-tarfile "$work/$1"_*.deb | tar -C "$work/unpacked" -x --wildcards "${@:2}"; }
extract nvidia-cuda-toolkit './usr/bin/*' './usr/lib/nvidia-cuda-toolkit/*'
extract nvidia-cuda-dev './usr/include/*' '*/libcudart_static.a' '*/libcudadevrt.a'
extract libcu++-dev './usr/include/*'

# As NVIDIA's own installer lays it out, which nvcc and CMake know.
usr=$work/unpacked/usr tools=$work/unpacked/usr/lib/nvidia-cuda-toolkit
mkdir -p "$folder.part"/{bin,nvvm/bin,lib64}
cp -a "$usr"/bin/{cudafe++,ptxas,fatbinary,nvlink,bin2c,cuobjdump,__nvcc_device_query} "$tools"/bin/{nvcc,crt} "$folder.part/bin/"
cp -a "$tools/bin/cicc" "$folder.part/nvvm/bin/"
cp -a "$tools/libdevice" "$folder.part/nvvm/"
cp -a "$usr"/lib/*/lib{cudart_static,cudadevrt}.a "$folder.part/lib64/"
cp -a "$usr/include" "$folder.part/"
cat > "$folder.part/bin/nvcc.profile" << 'END'
TOP = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64"
END
for header in {/usr/local/cuda/include,/usr/include,/usr/include/x86_64-linux-gnu}/{nccl,cudnn*}.h; do
    [ ! -f "$header" ] || cp -n "$header" "$folder.part/include/"
done
mv "$folder.part" "$folder"
echo "$folder"
