# Sourced: the page that run.sh writes, from what the steps left in $work. It is written anew after each step,
# so that it also exists when the run is cut off.

lines_of_a_failure=40

count_of() { (cd "$work" && cat "${done_steps[@]/%/.verdict}") | grep -c "^$1" || true; }

write_page() {
    {
        echo "# Lockstep on $(gpu_names | head -n 1 | cut -d, -f1 | grep . || echo 'a machine without a GPU')"
        echo
        if [ "$mode" = dry ]; then
            echo "Dry run: nothing below was seen on a GPU. An emulated device or the CPU stands in."
            echo
        fi
        printf '%s of %s steps passed, %s failed, %s incomplete, %s not run.\n\n' "$(count_of passed)" \
            "${#done_steps[@]}" "$(count_of FAILED)" "$(count_of incomplete)" "$(count_of 'not run')"
        printf '| step | | verdict | seconds |\n| --- | --- | --- | --- |\n'
        local name
        for name in "${done_steps[@]}"; do
            printf '| [%s](#%s) | %s | %s | %s |\n' "$name" "$name" "$(title_of "$name")" \
                "$(cat "$work/$name.verdict")" "$(cat "$work/$name.seconds")"
        done
        printf '\n## machine\n\n'
        cat "$work/machine.md"
        for name in "${done_steps[@]}"; do write_step "$name"; done
    } > "$out/page.md"
}

title_of() { sed -n '2s/^# //p' "$here/steps/$1.sh"; }

write_step() {
    local log=$work/$1.log table=$work/$1/table.md
    printf '\n## %s\n\n%s: %s.\n' "$1" "$(title_of "$1")" "$(cat "$work/$1.verdict")"
    [ ! -s "$table" ] || { echo; cat "$table"; }
    case $(cat "$work/$1.verdict") in
        FAILED*) printf '\n```\n'; grep -v '^\$ ' "$log" | tail -n "$lines_of_a_failure"; printf '```\n' ;;
    esac
    if grep -q '^\$ ' "$log"; then
        printf '\n<details><summary>commands</summary>\n\n```sh\n'
        sed -n 's/^\$ //p' "$log" | sed "s#$root/##g; s#$work/##g"
        printf '```\n</details>\n'
    fi
}
