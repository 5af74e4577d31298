#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests of rooms and of the rooms that include them, for use while you work.
#   tests/quick.sh ROOM...            e.g.  tests/quick.sh launcher/plan, or a file in such a folder
#   tests/quick.sh --list ROOM...     prints the commands that it would run, and builds nothing
# BUILD is the build folder, as a rule `build`. tests/room_tests.py says what belongs to a room. Before a landing tests/run.sh runs everything.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD-build} list=
[ "${1-}" != --list ] || { list=yes; shift; }
[ $# -gt 0 ] || { echo "tests/quick.sh [--list] ROOM...: name a line of cmake/rooms.txt" >&2; exit 2; }
if [ ! -e "$build/CMakeCache.txt" ]; then
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_TESTS=ON -DCMAKE_UNITY_BUILD=ON > /dev/null
elif [ -z "$list" ]; then
    # The lists may have changed.
    cmake --build "$build" --target build.ninja -- --quiet
fi
tests=$(tests/room_tests.py "$build" "$@")
if [ "$list" ]; then
    cut -f 2 <<< "$tests"
    exit
fi

begin=$SECONDS
mapfile -t targets < <(cut -f 1 <<< "$tests" | sort -u)
cmake --build "$build" --target "${targets[@]}" -- --quiet
built=$SECONDS
failed=()
while IFS=$'\t' read -r program command; do
    code=0
    bash -c "$command --no-intro=true" < /dev/null || code=$?
    [ "$code" = 0 ] || [ "$code" = 77 ] || failed+=("$program")
done <<< "$tests"
echo "tests/quick.sh: ${#targets[@]} programs, $((built - begin)) s of building, $((SECONDS - built)) s of testing"
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
