# Sourced: the page that run.sh writes, from what the steps left in $state:
# NAME/{log,verdict,seconds,machine,table.md,figures}. It is written anew before and after each step, so that it also
# exists when the run is cut off.

source "$here/goals.sh"
lines_of_a_failure=120

# Names of those that have run, in this run or one before, in the order of the page.
known_steps() {
    local step
    for step in "${steps[@]}"; do [ ! -f "$state/${step%:*}/verdict" ] || echo "${step%:*}"; done
}

verdict_of() { echo "$(< "$state/$1/verdict")"; }
count_of() { known_steps | while read -r name; do verdict_of "$name"; done | grep -c "^$1" || true; }

# Names of the steps that had no time or too little, with commas between them.
for_another_run() {
    known_steps | while read -r name; do
        ! grep -q '^incomplete\|^not run: the time' "$state/$name/verdict" || echo "$name"
    done | paste -sd ,
}

write_page() {
    local name
    {
        echo "# Lockstep on ${this_machine%%,*}"
        echo
        if [ "$mode" = dry ]; then
            echo "Dry run: nothing below was seen on a GPU. An emulated device or the CPU stands in."
            echo
        fi
        printf '%s of %s steps passed, %s failed, %s incomplete, %s not run.\n\n' "$(count_of passed)" \
            "$(known_steps | wc -l)" "$(count_of FAILED)" "$(count_of incomplete)" "$(count_of 'not run')"
        cat "$state/machine.md" "$work/python.md"
        printf '\n## goals\n\n'
        write_goals
        printf '\n## steps\n'
        printf '\n| step | | verdict | seconds |\n| --- | --- | --- | --- |\n'
        known_steps | while read -r name; do
            printf '| [%s](#%s) | %s | %s | %s |\n' "$name" "$name" "$(title_of "$name")" \
                "$(< "$state/$name/verdict")" "$(< "$state/$name/seconds")"
        done
        name=$(for_another_run)
        [ -z "$name" ] || printf '\nFor another run: `--only %s`.\n' "$name"
        known_steps | while read -r name; do write_step "$name"; done
    } > "$out/page.md"
}

# A step's second line.
title_of() {
    local line
    { read -r line; read -r line; } < "$here/steps/$1.sh"
    echo "${line#\# }"
}

write_step() {
    local folder=$state/$1
    printf '\n## %s\n\n%s: %s.\n' "$1" "$(title_of "$1")" "$(verdict_of "$1")"
    [ "$(< "$folder/machine")" = "$this_machine" ] || printf '\nOf an earlier run: %s.\n' "$(< "$folder/machine")"
    [ ! -s "$folder/table.md" ] || { echo; cat "$folder/table.md"; }
    [ -f "$folder/log" ] || return 0
    case $(verdict_of "$1") in
        FAILED* | incomplete*) printf '\n```\n'; sed '/^\$ /d' "$folder/log" | tail -n "$lines_of_a_failure"; printf '```\n' ;;
    esac
    if grep -q '^\$ ' "$folder/log"; then
        printf '\n<details><summary>commands</summary>\n\n```sh\n'
        sed -n 's/^\$ //p' "$folder/log"
        printf '```\n</details>\n'
    fi
}
