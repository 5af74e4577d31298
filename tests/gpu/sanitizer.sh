# Sourced by the steps of compute-sanitizer.

at_once=4  # most of a test's time is CUDA's start

# Refused calls are what some tests are about.
options_of() { [ "$1" != memcheck ] || echo " --report-api-errors no"; }

# sanitized TOOL: the words before the tests' own.
sanitized() {
    local found
    if [ "$mode" = dry ]; then
        echo env
    elif found=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" 2> /dev/null); then
        echo "$found --tool $1 --error-exitcode 9 --print-limit 20$(options_of "$1")"
    fi
}

test_files() {
    [ "$mode" = gpu ] || { echo index_test.cpp; return; }
    run_tests kernels --list-test-cases --reporters=xml | sed -n 's#.*filename="[^"]*/\([^"/]*\)".*#\1#p' | sort -u
}

# sanitize TOOL: the kernel tests under it, one file of tests after the other; fails where one fails.
sanitize() {
    local words file
    words=$(sanitized "$1")
    [ -n "$words" ] || not_run "there is no compute-sanitizer here"
    printf '| tests | %s | seconds |\n| --- | --- | --- |\n' "$1" > "$step_folder/table.md"
    for file in $(test_files); do
        while [ "$(jobs -rp | wc -l)" -ge $at_once ]; do wait -n || true; done
        sanitize_file "$words" "$file" &
    done
    wait
    ! grep -q '| FAILED' "$step_folder/table.md"
}

sanitize_file() {
    local begin=$SECONDS verdict=clean
    before="$1" run_tests kernels "--source-file=*/$2" > "$step_folder/$2.log" 2>&1 || verdict="FAILED: exit code $?"
    printf '| %s | %s | %s |\n' "$2" "$verdict" $((SECONDS - begin)) >> "$step_folder/table.md"
    if [ "$verdict" = clean ]; then head -n 1 "$step_folder/$2.log"; else cat "$step_folder/$2.log"; fi
}
