#!/usr/bin/env bash
# fp16 whose first loss scale overflows: the step is skipped, the scale halved, and training goes on
source "$(dirname "$0")/../step.sh"
some='*overflow*'
[ "$mode" = gpu ] || some='*skip an overflow*'
run_tests train "--test-case=$some" > output || failed "exit code $?" output
summarize_tests output
