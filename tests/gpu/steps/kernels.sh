#!/usr/bin/env bash
# The kernels against the CPU's
source "$(dirname "$0")/../step.sh"

some=()
[ "$mode" = gpu ] || some=("--source-file=*reduce_test.cpp,*index_test.cpp")
run_tests kernels "${some[@]}" > output || failed "exit code $?" output
summarize_tests output
