#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source is as clang-format 14 (.clang-format) writes it.   tests/format_test.sh
# Other versions break some lines elsewhere; with one of them the test is skipped (77).
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format > /dev/null || { echo "clang-format is missing: apt-get install clang-format" >&2; exit 1; }
[[ $(clang-format --version) == *" 14."* ]] || { echo "skipped: $(clang-format --version) is not version 14"; exit 77; }

# The check itself: it refuses a line that is not formatted.
if echo 'int  f( );' | clang-format --dry-run -Werror --assume-filename=planted.cpp 2> /dev/null; then
    echo "the check itself is wrong: clang-format accepts a line that is not formatted" >&2
    exit 1
fi

find runtime model data launcher bench tests -regex '.*\.\(cpp\|hpp\|ipp\|cu\)' -print0 \
    | xargs -0 -P "$(nproc)" -n 50 clang-format --dry-run -Werror \
    || { echo "write them anew by: clang-format -i FILE..." >&2; exit 1; }
echo "every source is formatted"
