#!/usr/bin/env bash
# Whole models against PyTorch's golden losses and gradients in fp32, bf16 and fp16, and their decoding against the CPU's
source "$(dirname "$0")/../step.sh"
source "$here/test_files.sh"
needs cuBLASLt

some=()
[ "$mode" = gpu ] || some=("--test-case=*in fp32*")
by_file model '' "${some[@]}"
