#!/usr/bin/env bash
# The kernels against the CPU's
source "$(dirname "$0")/../step.sh"
source "$here/test_files.sh"

some=()
[ "$mode" = gpu ] || some=("--source-file=*reduce_test.cpp,*index_test.cpp")
by_file kernels '' "${some[@]}"
