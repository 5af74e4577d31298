# Sourced by run.sh: one step, from its start to what it leaves in $state.

cut_off=''
running=''
# Whoever ends the run gets a page with what there is.
trap 'cut_off=yes; [ -z "$running" ] || kill -TERM "$running" 2> /dev/null || true' TERM INT HUP

# last_words FOLDER: of what a step that did not finish wrote to last, if anything.
last_words() {
    local file
    ls -t "$1" | { grep '\.log$\|^output$\|^errors$' || true; } | sed 3q | while read -r file; do
        echo "--- $file"
        tail -n 20 "$1/$file"
    done
}

# set_verdict NAME VERDICT [SECONDS]: of a step on this machine.
set_verdict() {
    mkdir -p "$state/$1"
    echo "$2" | tr '|' '/' > "$state/$1/verdict"
    echo "${3-0}" > "$state/$1/seconds"
    echo "$this_machine" > "$state/$1/machine"
}

# verdict FOLDER CODE SECONDS TOOK: of a step by its exit code. The end of its log says why.
verdict() {
    local why
    why=$(tail -n 1 "$out/running.log")
    case $2 in
        0) echo "passed$(sed '1s/^/, but /' "$1/but" 2> /dev/null | paste -sd ';' || true)" ;;
        76) echo "incomplete: $why" ;;
        77) echo "not run: $why" ;;
        124) echo "incomplete: not done in $3 s" ;;
        137) if [ "$4" -ge "$3" ]; then echo "incomplete: not done in $3 s"; else echo "FAILED: killed"; fi ;;
        *) echo "FAILED: exit code $2" ;;
    esac
}

# run_step NAME SECONDS: its log, verdict, seconds, machine, table, figures and what it keeps are left in $state/NAME. Until
# its end the log is in $out, where it is found when all is cut off.
run_step() {
    local name=$1 begin=$SECONDS code=0 folder=$state/$1 log=$out/running.log now file
    export seconds=$2
    mkdir "$work/$name"
    # The bundle's own steps: those that its programs know.
    (cd "$work/$name" && exec timeout --kill-after=5 "$seconds" "$root/tests/gpu/steps/$name.sh") \
        > "$log" 2>&1 < /dev/null &
    running=$!
    # A signal to this script ends the first wait.
    wait $running || code=$?
    [ -z "$cut_off" ] || { wait $running || true; }
    running=''
    now=$(verdict "$work/$name" $code "$seconds" $((SECONDS - begin)))
    [ -z "$cut_off" ] || now="incomplete: the run was ended after $((SECONDS - begin)) s of it"
    set_verdict "$name" "$now" $((SECONDS - begin))
    [[ $now != incomplete* ]] || last_words "$work/$name" >> "$log"
    sed "s#$root/##g; s#$work/##g" "$log" > "$folder/log"
    rm "$log"
    for file in table.md figures; do
        [ ! -f "$work/$name/$file" ] || mv "$work/$name/$file" "$folder/"
    done
    [ ! -d "$work/$name/keep" ] || mv "$work/$name/keep" "$folder/"
    rm -rf "${work:?}/$name"
}
