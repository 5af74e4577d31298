# Sourced: a program's tests, each file of them in a process of its own, so that what breaks one file's GPU context
# leaves the others; several at once, since most of their time the host is busy. With cases_at_once=N a process has at
# most N of the file's cases.

at_once=$(nproc)
[ "$at_once" -le 8 ] || at_once=8
least_s=10  # without so much no file of tests is begun

# cases_of PROGRAM [DOCTEST ARGUMENT...]: a line for each test case: its file, a tab, its name.
cases_of() {
    local program=$1
    shift
    listed=0
    run_tests "$program" "$@" --list-test-cases --reporters=xml 3> /dev/null > list || listed=$?
    sed -n 's#.*<TestCase name="\([^"]*\)".* filename="[^"]*/\([^"/]*\)".*#\2\t\1#p' list
}

# leave_out FILE PART: not run where that part of the preflight is missing.
leave_out() {
    local why
    [ "$mode" = gpu ] || return 0
    why=$(wanting "$2")
    [ -z "$why" ] || printf '%s\t%s\n' "$1" "$why" >> left_out
}

# by_file PROGRAM WORDS [DOCTEST ARGUMENT...]: the tests after WORDS; adds a table to table.md, fails where one fails.
by_file() {
    local program=$1 words=$2 file why listed count at_most first last
    shift 2
    cases_of "$program" "$@" > cases
    [ "$listed" != 77 ] || not_run "$(tail -n 1 list)"
    [ -s cases ] || failed "no test of $program has these names: $*"
    printf '| tests | verdict | cases | seconds |\n| --- | --- | --- | --- |\n' >> table.md
    # Attention's first, which last longest.
    # shellcheck disable=SC2013 # No name of a file has a blank.
    for file in $(cut -f 1 cases | awk '!seen[$0]++ { print !/attention/ "\t" $0 }' | sort -s -k 1,1n | cut -f 2); do
        count=$(grep -c "^$file	" cases)
        at_most=${cases_at_once:-$count}
        ! grep -qs "^$file	" left_out || at_most=$count
        for ((first = 1; first <= count; first += at_most)); do
            last=$((first + at_most - 1))
            while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n || true; done
            one_file "$program" "$words" "$file" $first $((last < count ? last : count)) "$@" &
        done
    done
    wait
    ! grep -q '| FAILED' table.md || failed "see the tests that failed"
    [ ! -f left_out ] || while IFS=$'\t' read -r file why; do echo "$file was not run: $why"; done < left_out > but
    ! grep -q '| not done' table.md || incomplete "$(grep -c '| not done' table.md) of the table's rows were not done in $seconds s"
}

time_left() { echo $((seconds - SECONDS - 5)); }

# one_file PROGRAM WORDS FILE FIRST LAST [DOCTEST ARGUMENT...]: these cases of the file. Written by its own end, so that
# the step's end finds a whole table.
one_file() {
    local program=$1 words=$2 file=$3 first=$4 last=$5 begin=$SECONDS left why verdict=passed code=0 name=$3
    shift 5
    left=$(time_left)
    why=$(sed -n "s/^$file	//p" left_out 2> /dev/null || true)
    [ -z "${cases_at_once:-}" ] || [ -n "$why" ] || name+=:$first-$last
    if [ -n "$why" ]; then
        verdict="not run: $why"
    elif [ "$left" -lt $least_s ]; then
        verdict='not done'
    else
        before="timeout --kill-after=2 $left $words" run_tests "$program" "$@" "--source-file=*/$file" \
            "--first=$first" "--last=$last" > "$name.log" 2>&1 || code=$?
        # Whatever runs the tests for us might lose their exit code.
        [ $code != 0 ] || grep -q '^\[doctest\] Status: SUCCESS' "$name.log" || code="0, but no result"
        case $code in
            0) ;;
            124 | 137) verdict="not done: $(last_case "$name.log")" ;;
            *)
                verdict="FAILED: exit code $code; each alone: $(failing_cases "$program" "$words" "$file" "$first" "$last" "$@")"
                { echo "--- $name"; tail -n 60 "$name.log"; } >&3
                ;;
        esac
    fi
    printf '| %s | %s | %s | %s |\n' "$name" "$verdict" $((last - first + 1)) $((SECONDS - begin)) >> table.md
}

last_case() { { grep -o 'TEST CASE: .*' "$1" || echo 'no test has failed so far'; } | tail -n 1; }

# Those of the file's test cases FIRST to LAST that fail in a process of their own.
failing_cases() {
    local program=$1 words=$2 file=$3 first=$4 last=$5 number=0 failing=0 name left code names=''
    shift 5
    while IFS=$'\t' read -r _ name; do
        number=$((number + 1))
        [ $number -ge "$first" ] && [ $number -le "$last" ] || continue
        left=$(time_left)
        [ "$left" -ge 2 ] || { names+=', no time for the others'; break; }
        code=0
        before="timeout --kill-after=2 $left $words" run_tests "$program" "$@" "--source-file=*/$file" \
            --first=$number --last=$number > "$file.$number.log" 2>&1 3> /dev/null || code=$?
        [ $code != 0 ] || ! grep -q '^\[doctest\] Status: SUCCESS' "$file.$number.log" || continue
        failing=$((failing + 1))
        names+=", \"$name\""
    done < <(grep "^$file	" cases)
    number=$((last - first + 1))
    if [ $failing = $number ]; then echo "all $number fail"; else echo "$failing of $number fail$names"; fi
}
