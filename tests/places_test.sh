#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The test programs in places where people run them: a container without rights, a changed root, a background. Where rights or
# terminals are missing, a program says so in one line and counts as skipped; with CI=true it fails. In the background a shell
# lets its programs ignore INT and QUIT, and nohup lets them ignore HUP; the tests' own processes must not.
#   tests/places_test.sh BIN       BIN is a folder with the test programs
set -euo pipefail
bin=$(realpath "${1:?BIN}")
cd "$(dirname "$0")/.."
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# check CODE CI PROGRAM CASE LINE WRAPPER...: the case's program ends so, and says the line.
check() {
    local expected=$1 integration=$2 program=$3 name=$4 line=$5 code=0
    shift 5
    CI=$integration "$@" "$bin/$program" -tc="$name" > "$output" 2>&1 || code=$?
    if [ "$code" != "$expected" ] || [ "$(grep -cxF "$line" "$output")" != 1 ]; then
        cat "$output"
        echo "$program ended with code $code instead of $expected, or did not say once: $line" >&2
        exit 1
    fi
}

# Root without its rights is what a container gives.
without_rights=(setpriv --bounding-set -all --inh-caps -all)
"${without_rights[@]}" true 2> /dev/null || without_rights=(env)
mounts="skipped: each case that needs mounts, because this process cannot mount in a namespace of its own, as root can"
folder="rank 0 saves and loads alone if a rank does not see its folder"
check 77 false zero_tests "$folder" "$mounts" "${without_rights[@]}"
check 1 true zero_tests "$folder" "$mounts" "${without_rights[@]}"

# An empty folder over /dev/pts is what a changed root may have there.
hidden='mount -t tmpfs none /dev/pts && exec "$@"'
without_terminals=(unshare --mount bash -c "$hidden" terminals)
if "${without_terminals[@]}" true 2> /dev/null; then
    terminals="skipped: each case that needs a terminal, because no terminal can be made in /dev/pts"
    check 77 false run_length_tests "on a terminal the log's lines stand above the bar" "$terminals" "${without_terminals[@]}"
    check 1 true run_length_tests "on a terminal the log's lines stand above the bar" "$terminals" "${without_terminals[@]}"
fi

(
    trap '' HUP INT QUIT
    check 0 true process_group_tests "*USR1 and USR2 reach the ranks" "[doctest] Status: SUCCESS!" env
)

# Where nothing is missing, nothing is left out. The case's name is nobody's.
check 0 true zero_tests "no case" "[doctest] Status: SUCCESS!" env
echo "missing rights are told once and count as skipped or as a failure; ignored signals do not matter"
