# Sourced by the steps of compute-sanitizer.

# Most of a test's time is CUDA's start, which only the host is busy with.
at_once=$(nproc)
[ "$at_once" -le 8 ] || at_once=8
least_s=10  # without so much no file of tests is begun

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

# Attention's first, which last longest. In a dry run the shortest stands for all.
test_files() {
    run_tests kernels --list-test-cases --reporters=xml 3> /dev/null |
        sed -n 's#.*filename="[^"]*/\([^"/]*\)".*#\1#p' | sort -u > all_files
    { grep attention all_files; grep -v attention all_files; } |
        if [ "$mode" = dry ]; then grep '^index_test'; else cat; fi
}

# sanitize TOOL: the kernel tests under it, one file of tests after the other; fails where one fails.
sanitize() {
    local words file files
    words=$(sanitized "$1")
    [ -n "$words" ] || not_run "there is no compute-sanitizer here"
    files=$(test_files)
    [ -n "$files" ] || failed "the kernel tests list no files" all_files
    printf '| tests | %s | seconds |\n| --- | --- | --- |\n' "$1" > table.md
    for file in $files; do
        while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n || true; done
        sanitize_file "$words" "$file" &
    done
    wait
    ! grep -q '| FAILED' table.md || failed "see the tests that failed"
    ! grep -q '| not done' table.md || incomplete "$(grep -c '| not done' table.md) files of tests were not done in $seconds s"
}

# Written by its own end, so that the step's end finds a whole table.
sanitize_file() {
    local begin=$SECONDS left=$((seconds - SECONDS - 5)) verdict=clean code=0
    if [ "$left" -lt $least_s ]; then
        verdict='not done'
    else
        before="timeout --kill-after=2 $left $1" run_tests kernels "--source-file=*/$2" > "$2.log" 2>&1 || code=$?
        case $code in
            0) ;;
            124 | 137) verdict='not done' ;;
            *) verdict="FAILED: exit code $code"; tail -n 60 "$2.log" >&3 ;;
        esac
    fi
    printf '| %s | %s | %s |\n' "$2" "$verdict" $((SECONDS - begin)) >> table.md
}
