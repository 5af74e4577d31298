# Sourced: the page that run.sh writes, from what the steps left in $work. It is written anew after each step,
# so that it also exists when the run is cut off.

lines_of_a_failure=40

write_page() {
    {
        echo "# Lockstep on $(gpu_names | head -n 1 | cut -d, -f1 | grep . || echo 'a machine without a GPU')"
        echo
        if [ "$mode" = dry ]; then
            echo "Dry run: nothing below was seen on a GPU. An emulated device stands in."
            echo
        fi
        cat "$work/machine.md"
        printf '\n| step | verdict | seconds |\n| --- | --- | --- |\n'
        local name
        for name in "${done_steps[@]}"; do
            printf '| [%s](#%s) | %s | %s |\n' "$name" "$name" "$(cat "$work/$name.verdict")" "$(cat "$work/$name.seconds")"
        done
        for name in "${done_steps[@]}"; do write_step "$name"; done
    } > "$out/page.md"
}

write_step() {
    local log=$work/$1.log table=$work/$1/table.md
    printf '\n## %s\n\n%s: %s.\n' "$1" "$(sed -n '2s/^# //p' "$here/steps/$1.sh")" "$(cat "$work/$1.verdict")"
    if grep -q '^\$ ' "$log"; then
        printf '\n```sh\n'
        sed -n 's/^\$ //p' "$log" | sed "s#$root/##g; s#$work/##g"
        printf '```\n'
    fi
    [ ! -s "$table" ] || { echo; cat "$table"; }
    case $(cat "$work/$1.verdict") in
        passed | "not run"*) ;;
        *) printf '\n```\n'; tail -n "$lines_of_a_failure" "$log"; printf '```\n' ;;
    esac
}
