#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The programs of a Release build have the protections of cmake/Hardening.cmake.   tests/hardening_test.sh BUILD CONFIG
# What the linker does is looked for in the programs. What the compiler does is looked for in the project's own archives,
# because the programs also hold Debian's, such as HDF5's, which has the same protections.
set -euo pipefail
build=$(realpath "${1:?BUILD}")
[ "${2:?CONFIG}" = Release ] || { echo "skipped: only Release has these protections"; exit 77; }

# loaded_as FILE KIND: says what the linker has left out; KIND is program or library.
loaded_as() {
    local facts
    facts=$(readelf --wide --file-header --program-headers --dynamic "$1")
    grep -q 'GNU_RELRO' <<< "$facts" || echo "$1: no segment is read-only after the start (-z relro)"
    grep -q 'FLAGS).*BIND_NOW' <<< "$facts" || echo "$1: functions are looked up after the start (-z now)"
    grep -q 'GNU_STACK.* RW  ' <<< "$facts" || echo "$1: the stack is executable"
    [ "$2" = library ] || grep -q 'FLAGS_1).*PIE' <<< "$facts" || echo "$1: it is always loaded at the same address (-pie)"
}

# compiled_with ARCHIVE...: says which protections none of the archives' objects uses.
compiled_with() {
    local names
    names=$(nm --undefined-only "$@" 2> /dev/null)
    grep -q ' __stack_chk_fail$' <<< "$names" || echo "no function guards its return address (-fstack-protector-strong)"
    grep -qE ' __(memcpy|memmove|memset|read|snprintf|vsnprintf|fdelt)_chk$' <<< "$names" \
        || echo "no copy looks at the size of its buffer (_FORTIFY_SOURCE)"
}

# The check itself: it misses each protection in a program that is built without them.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
cat > "$planted/planted.cpp" << 'END'
#include <cstring>
void take(char* text);
int main(int count, char** words) {
    char text[32];
    take(text);
    std::memcpy(text, words[0], static_cast<unsigned>(count));
    return text[0];
}
void take(char* text) { text[0] = 0; }
END
g++ -O2 -fno-stack-protector -U_FORTIFY_SOURCE -no-pie -Wl,-z,norelro,-z,lazy "$planted/planted.cpp" -o "$planted/planted"
g++ -O2 -fno-stack-protector -U_FORTIFY_SOURCE -c "$planted/planted.cpp" -o "$planted/planted.o"
missed=$({ loaded_as "$planted/planted" program; compiled_with "$planted/planted.o"; } | wc -l)
[ "$missed" = 5 ] || { echo "the check itself is wrong: it misses $missed of the 5 protections that are not there" >&2; exit 1; }

mapfile -t archives < <(find "$build/runtime" "$build/model" "$build/data" "$build/launcher" -name 'liblockstep_*.a')
[ ${#archives[@]} -gt 0 ] || { echo "$build has none of the project's archives" >&2; exit 1; }
module=$build/lib/lockstep/liblockstep_mpi.so
faults=$(
    loaded_as "$build/bin/lockstep" program
    [ ! -e "$module" ] || loaded_as "$module" library
    compiled_with "${archives[@]}"
)
[ -z "$faults" ] || { echo "$faults"; exit 1; }
echo "the programs and ${#archives[@]} archives have every protection"
