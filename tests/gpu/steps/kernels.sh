#!/usr/bin/env bash
# The kernels against the CPU's
source "$(dirname "$0")/../step.sh"
source "$here/test_files.sh"
needs cuBLASLt

some=()
[ "$mode" = gpu ] || some=("--source-file=*reduce_test.cpp,*index_test.cpp")
# Without cuDNN our own attention would pass for it.
leave_out attention_library_test.cpp cuDNN
by_file kernels '' "${some[@]}"
