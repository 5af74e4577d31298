#!/usr/bin/env bash
# What lockstep doctor sees of this machine
source "$(dirname "$0")/../step.sh"

code=0
with_libraries show "$root/bin/lockstep" doctor > output 2>&1 || code=$?
{ echo '```'; cat output; echo '```'; } > table.md
# What is missing it has found, too.
[ $code = 0 ] && grep -q 'serves CUDA' output || needs cuBLASLt cuDNN NCCL
[ "$mode" = dry ] || grep -q 'serves CUDA' output || failed "doctor found no GPU driver"
exit $code
