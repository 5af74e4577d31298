#!/usr/bin/env bash
# Every program starts here, with the bundle's libraries, and with its glibc where this system's is older
source "$(dirname "$0")/../step.sh"

# The system's own versions of these libraries are preferred to the bundle's.
systems_own=$(cd "$root/lib/fallback" 2> /dev/null && printf '\t%s => /\n' *.so* || true)

# What the loader finds nowhere, or elsewhere than in the bundle.
strange_libraries() {
    "$1" bash -c '"$1/lib/glibc/ld-linux-x86-64.so.2" \
        --library-path "$1/lib:$1/lib/glibc:$LD_LIBRARY_PATH:$1/lib/fallback" --list "$1/libexec/${2##*/}"' \
        list "$root" "$2" 2>&1 | grep -v "=> $root/" | grep 'not found\|=>\|error' |
        grep -vF "${systems_own:-no library}" || true
}

failed=0
for program in "$root"/bin/*; do
    [ ! -L "$program" ] || continue
    name=$(basename "$program") libraries=with_libraries option=--help
    [[ $name != *_tests ]] || option=--list-test-cases
    [[ $name != *_emulated* ]] || libraries=with_emulated_libraries
    strange=$(strange_libraries $libraries "$program")
    code=0
    $libraries "$program" $option > start.log 2>&1 || code=$?
    # Tests for GPUs end with 77 where they cannot run.
    [ $code != 77 ] || code=0
    if [ -n "$strange" ] || [ $code != 0 ]; then
        printf '%s %s: exit code %s\n%s\n' "$name" $option $code "$strange"
        tail -n 5 start.log
        failed=1
    fi
done
exit $failed
