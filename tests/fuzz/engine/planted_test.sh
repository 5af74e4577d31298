#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks whether a fuzzer finds the faults of tests/fuzz/engine/planted_fuzz.cpp and says what each of them is.
#
#   planted_test.sh FUZZ_PLANTED
set -euo pipefail
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
faults=0
complain() {
    echo "planted_test: $*" >&2
    cat output >&2
    faults=1
}

# expect_found WORD TEXT: the fuzzer fails, shows TEXT, and writes the input to a file.
expect_found() {
    printf '%s' "$1" > input
    rm -f fuzz_planted-*
    if "$program" input > output 2>&1; then complain "the fault '$1' is not found"; fi
    grep -q -- "$2" output || complain "the fault '$1' is not called '$2'"
    cmp -s input fuzz_planted-* || complain "the input of the fault '$1' is not kept"
}

# A wrong request is no fault of the target.
printf answer > input
for request in nosuch '--words nosuch input' '--seconds x input' '--help'; do
    # shellcheck disable=SC2086 # several words
    code=0 && "$program" $request > output 2>&1 || code=$?
    [[ $code == 2 && -z $(ls fuzz_planted-* 2> /dev/null) ]] && grep -qE 'nosuch|--seconds x|--help' output || complain "the request '$request' ends with code $code"
done
"$program" input > output 2>&1 || complain 'an error that is an answer counts as a fault'
printf 'slow once' > input
"$program" input > output 2>&1 || complain 'an input that is slow once, and not again, counts as a fault'
grep -q 'took long once' output || complain 'nothing says that an input was slow once'
expect_found exception 'another type than Error: planted'
expect_found contract 'a contract error: planted'
expect_found loop 'too much processor time'
expect_found exit 'it ended with code 0'
expect_found Fuz 'Aborted'
expect_found read 'heap-buffer-overflow'
expect_found overflow 'signed integer overflow'
expect_found memory 'more memory than it may'
expect_found leak 'LeakSanitizer'

# Nobody guesses these three letters at once; the search finds one after the other.
printf a > input
if "$program" --seconds 60 --seed 1 input > output 2>&1; then complain 'the search does not find three letters'; fi
printf 'Fuz' | cmp -n 3 -s - fuzz_planted-"$(tail -n 1 output | sed 's/.*fuzz_planted-//')" ||
    complain 'the search finds another fault first'
exit $faults
