#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shellcheck has nothing to say about any shell script; .shellcheckrc says which findings are not asked for, and why.
#   tests/shellcheck_test.sh
set -euo pipefail
cd "$(dirname "$0")/.."
command -v shellcheck > /dev/null || { echo "shellcheck is missing: apt-get install shellcheck" >&2; exit 1; }

# The check itself: it refuses a planted mistake, here a name that is split at its blanks.
if printf '#!/bin/bash\nrm -r $1\n' | shellcheck - > /dev/null; then
    echo "the check itself is wrong: shellcheck accepts a name that is split at its blanks" >&2
    exit 1
fi

mapfile -t scripts < <(find . \( -name 'build*' -o -name .git -o -name .cache \) -prune -o \
    \( -name '*.sh' -o -name '*.sbatch' -o -name '*.pbs' -o -name '*.lsf' -o -path './.ci/*' \) -type f -print | sort)
[ ${#scripts[@]} -gt 50 ] || { echo "only ${#scripts[@]} scripts were found" >&2; exit 1; }
printf '%s\0' "${scripts[@]}" | xargs -0 -n 8 -P "$(nproc)" shellcheck --external-sources --shell=bash --format=gcc
echo "shellcheck has nothing to say about ${#scripts[@]} scripts"
