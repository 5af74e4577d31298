#!/usr/bin/env bash
# What lockstep doctor sees of this machine
source "$(dirname "$0")/../step.sh"

code=0
with_libraries show "$root/bin/lockstep" doctor > output 2>&1 || code=$?
head -n 1 output
{ echo '```'; tail -n +2 output; echo '```'; } > table.md
if [ "$mode" = gpu ] && ! grep -q 'GPU driver [0-9]' output; then
    echo "doctor found no GPU driver"
    exit 1
fi
exit $code
