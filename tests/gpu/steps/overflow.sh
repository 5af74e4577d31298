#!/usr/bin/env bash
# fp16 whose first loss scale overflows: the step is skipped, the scale halved, and training goes on
source "$(dirname "$0")/../step.sh"
source "$here/test_files.sh"
needs cuBLASLt

some='*overflow*'
[ "$mode" = gpu ] || some='*skip an overflow*'
by_file train '' "--test-case=$some"
