#!/usr/bin/env bash
# run.sh on machines that lack a library, a GPU or a driver for it: a step that cannot run says why and what to install,
# and does not fail.
set -euo pipefail
cd "$(dirname "$0")"
source ./made_up_bundle.sh
by_nccl=(nccl ranks kill trace allreduce)
by_products=(kernels gradients graphs overflow curves bench_kernels speed speed_ragged speed_large memcheck racecheck)
own_steps doctor "${by_nccl[@]}" "${by_products[@]}"
only() { local IFS=,; echo "$*"; }
PATH=$root/path:$PATH
mkdir "$root/path"
executable "$root/path/nvidia-smi" "echo 'NVIDIA H100 80GB HBM3, 81559 MiB, 700 W, 535.54'"
# A python3 that has no torch.
executable "$root/path/python3" 'exit 1'

machine 'NCCL | none: libnccl.so.2 cannot be opened |'
run 0 --only "$(only "${by_nccl[@]}")"
for name in "${by_nccl[@]}"; do
    page_has "^| \[$name\].* | not run: NCCL is missing: libnccl.so.2 cannot be opened; pip install nvidia-nccl"
done
grep -q '^nccl  *not run: NCCL is missing' "$root/said" || wrong "the screen does not say why"
page_has '^| python3 | has no torch |'
grep -q '^| NCCL | none' "$root/said" || wrong "the screen has no table of what is missing"

machine 'cuBLASLt | none: libcublasLt.so.13 cannot be opened |'
run 0 --only "$(only "${by_products[@]}")"
for name in "${by_products[@]}"; do
    page_has "^| \[$name\].* | not run: cuBLASLt is missing: libcublasLt.so.13 cannot be opened; pip install nvidia-cublas"
done

# nvidia-smi sees the GPU, and CUDA does not, or for older programs.
old='the NVIDIA driver serves CUDA 12.4 at most, and this program is built with CUDA 13.0: install driver 580 or newer'
for row in "driver | 550.54 | $old" "driver | none: $old |"; do
    machine "$row"
    run 0 --only doctor,kernels,nccl,speed
    for name in doctor kernels nccl speed; do page_has "^| \[$name\].* | not run: [a-zA-Z]*\( is missing\)*: $old |"; done
done

# A program that sees no GPU says so by exit code 77.
machine
program kernels_cuda_tests "echo 'skipped: no GPU is visible'; exit 77"
own_steps programs
run 0 --only kernels,programs
page_has '^| \[kernels\].* | not run: skipped: no GPU is visible |'
page_has '^| \[programs\].* | passed |'

# A library may come from elsewhere than the bundle only where the system's own is preferred.
mkdir "$root"/lib/{glibc,fallback}
touch "$root/lib/fallback/libOpenCL.so.1"
loader_finds() { executable "$root/lib/glibc/ld-linux-x86-64.so.2" "printf '\t%s\n' '$1 => /elsewhere/$1'"; }
loader_finds libOpenCL.so.1
run 0 --only programs
loader_finds libhdf5.so.103
run 1 --only programs
grep -q 'libhdf5.so.103 => /elsewhere' "$root/out/page.md" || wrong "the page does not name the strange library"

# Our own attention would pass for cuDNN's.
machine 'cuDNN | none: libcudnn.so.9 cannot be opened |'
tests kernels_cuda_tests
run 0 --only kernels
page_has '^| \[kernels\].* | passed, but attention_library_test.cpp was not run: cuDNN is missing: libcudnn.so.9 cannot be opened; pip install nvidia-cudnn'
page_has '^| one_test.cpp | passed |'
machine
run 0 --only kernels
page_has '^| \[kernels\].* | passed |'

# One GPU: NCCL's tests are those of one rank, and two processes on it may be refused.
tests comm_cuda_tests 'echo "not run: the tests of 2 ranks, since NCCL wants a GPU for each and 1 is visible"'
program distributed_launch "echo 'Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 17000'; exit 1"
run 0 --only nccl,allreduce
page_has '^| \[nccl\].* | passed, but not run: the tests of 2 ranks'
page_has '^| \[allreduce\].* | not run: NCCL refuses 2 ranks that share GPUs (visible: 1): Duplicate GPU'

# The memory decides the batches of the largest model.
program bench_train_step 'echo "{\"tokens_per_s\": 1000}"'
batches() { sed -n 's/.*bin.bench_train_step.*--batch \([0-9]*\) --steps 4.*/\1/p' "$root/out/page.md" | paste -sd ' '; }
run 0 --only speed_large
[ "$(batches)" = '12 8 16' ] || wrong "batches of a GPU with 80 GB: $(batches)"
machine 'GPU 0 | NVIDIA H200, 143771 MiB |'
run 0 --only speed_large
[ "$(batches)" = '24 16 32' ] || wrong "batches of a GPU with 141 GB: $(batches)"
executable "$root/path/nvidia-smi" 'exit 1'
machine 'GPU 0-1 | NVIDIA H200 |'
run 0 --only speed_large
page_has '^| \[speed_large\].* | not run: nothing tells how much memory the GPU has'

# A machine without any.
machine 'GPU | none: there is no NVIDIA driver |'
run 2
grep -q 'no GPU is visible (GPU is missing: there is no NVIDIA driver)' "$root/said" || wrong "a machine without a GPU: no reason"
rm "$root/bin/lockstep"
run 2
grep -q 'does the program start here' "$root/said" || wrong "a program that does not start: no reason"
