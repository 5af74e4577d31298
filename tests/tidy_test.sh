#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy (.clang-tidy) has nothing to say about a share of the program's sources and the headers that they include.
#   tests/tidy_test.sh BUILD [FILE...]     BUILD holds compile_commands.json; without files: one source in twenty-five
#   tests/tidy_test.sh BUILD all           every source: half an hour on two cores, before a release
# A source takes about five seconds, so all of them are too many for every run, and changed files alone are not known without
# the history. Each change makes another choice (tests/compile_commands.py), so that in time every source has its turn.
# Sources with functions for several processors (gnu::target) are left out: clang 14 does not know the names of those. So are
# those of the cuDNN frontend, whose headers take it minutes.
# Other versions of clang-tidy have other checks; with one of them the test is skipped (77).
set -euo pipefail
build=$(realpath "${1:?BUILD}")
shift
cd -P "$(dirname "$0")/.."
command -v clang-tidy > /dev/null || { echo "clang-tidy is missing: apt-get install clang-tidy" >&2; exit 1; }
[[ $(clang-tidy --version) == *" 14."* ]] || { echo "skipped: clang-tidy is not version 14, whose checks are meant"; exit 77; }

# The commands of all sources, also of those that the build compiles together.
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
in_turn=$(tests/compile_commands.py "$build" "$commands" 25)

tidy() { xargs -P "$(nproc)" -n 1 clang-tidy -p "$commands" --quiet --extra-arg=-Wno-unknown-warning-option; }

# The check itself: it refuses a planted mistake, here a moved object that is used again.
cat > "$commands/planted.cpp" << 'END'
#include <string>
#include <utility>
std::string twice(std::string text) {
    std::string other = std::move(text);
    return other + text;
}
END
if clang-tidy --quiet --config-file=.clang-tidy "$commands/planted.cpp" -- -std=c++20 &> /dev/null; then
    echo "the check itself is wrong: clang-tidy accepts an object that is used after it was moved" >&2
    exit 1
fi

readable() { xargs grep -L 'gnu::target\|cudnn_frontend.h' || true; }
case ${1-} in
'') files=$(readable <<< "$in_turn") ;;
all) files=$(grep -o "\"file\": \"$PWD/[^\"]*\.cpp\"" "$commands/compile_commands.json" | cut -d'"' -f4 | sort -u | readable) ;;
*) files=$(printf '%s\n' "$@") ;;
esac
[ -n "$files" ] || { echo "$build/compile_commands.json has none of the sources" >&2; exit 1; }
tidy <<< "$files" 2> >(grep -v 'warnings generated\|^Suppressed\|^Use -header-filter' >&2)
echo "clang-tidy has nothing to say about $(wc -l <<< "$files") sources"
