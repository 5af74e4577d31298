#!/usr/bin/env bash
# Checks that the compiled kernels of the libraries can run as they are launched: the registers of the largest block that a
# kernel allows are within those of a multiprocessor, and none keeps more on its stack (spilled registers, and arrays that
# found no place in them) than is known here and in docs/cuda-kernels.md.
#   kernel_resources.sh CUOBJDUMP LIBRARY...
set -euo pipefail
cuobjdump=$1
shift
if [ ! -x "$cuobjdump" ]; then
    echo "skipped: there is no cuobjdump, which CUDA's toolkit and PyPI's nvidia-cuda-cuobjdump have"
    exit 77
fi
for library; do
    "$cuobjdump" --dump-resource-usage "$library"
    "$cuobjdump" -elf "$library" 2> >(grep -v "^Skipping" >&2)
done | awk '
function known_bytes(arch, name) {
    if (name ~ /norm_backward_kernel/) return arch == "sm_100" ? 96 : arch == "sm_80" ? 16 : 0
    if (name ~ /14forward_kernel.*Li128.*KeyHeadsE1/) return arch == "sm_100" ? 48 : 24
    if (name ~ /14forward_kernel.*Li128/) return arch == "sm_100" ? 40 : 16
    if (name ~ /12begin_kernel/) return arch == "sm_100" ? 0 : 40  # an array
    if (name ~ /11keys_kernel.*Li32ELNS1_7MaskingE1/) return 16
    # The plain kernels of heads of more than 64 columns.
    if (arch == "sm_100" && name ~ /(14forward|14queries|11keys)_kernelILi(128|256)/) return 16
    if (arch == "sm_100" && name ~ /column_sums_kernel/) return 24
    return 0
}
function hex(text,    i, value) {
    for (i = 3; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    return value
}
function number(key) { match($0, key ":[0-9]+"); return substr($0, RSTART + length(key) + 1, RLENGTH - length(key) - 1) + 0 }
$1 == "arch" { arch = $3 }
$1 == "Function" { name = $2; sub(/:$/, "", name) }
/ REG:[0-9]/ { registers[arch " " name] = number("REG"); stack[arch " " name] = number("STACK") }
/^\.nv\.info\./ { name = substr($1, 10); threads = 0 }
/EIATTR_MAX_THREADS/ { is_threads = 1 }
/Value:/ && is_threads { bound[arch " " name] = hex($2) * hex($3) * hex($4); is_threads = 0 }
END {
    for (kernel in registers) {
        ++kernels
        split(kernel, of, " ")
        # A block without __launch_bounds__ may have 1,024 threads; registers are given by eights.
        most = kernel in bound ? bound[kernel] : 1024
        held = int((registers[kernel] + 7) / 8) * 8 * most
        if (held > 65536) { print kernel ": " most " threads of " registers[kernel] " registers need " held " of 65,536"; bad = 1 }
        known = known_bytes(of[1], of[2])
        if (stack[kernel] > known) { print kernel ": " stack[kernel] " bytes of stack, " known " are known"; bad = 1 }
        bounded += kernel in bound
    }
    print kernels + 0 " kernels, " bounded + 0 " of them with __launch_bounds__"
    exit bad || kernels == 0 || bounded == 0
}'
