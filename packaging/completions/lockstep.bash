# SPDX-License-Identifier: Apache-2.0
# Completion for bash: programs, options and their values, as the --help of the program on PATH lists them.

# Prints "OPTION VALUES" for each option of a program; short forms of ParlAI too.
_lockstep_options() {
    "$1" "${@:2}" --help 2> /dev/null | awk '
        /^  --/ { option = $1; values = $2 ~ /^[^-(]/ && substr($0, length("  " option) + 1) ~ /^ [^ ]/ ? $2 : "-"; print option, values }
        { line = $0; while (match(line, /\(-[a-z][a-zA-Z0-9-]*\)/)) {
              if (option != "") print substr(line, RSTART + 1, RLENGTH - 2), values
              line = substr(line, RSTART + RLENGTH) } }'
}

# Offers paths, which bash then writes with a slash or a blank behind them, and with what its own words need.
_lockstep_files() {
    mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
    compopt -o filenames 2> /dev/null || true
}

_lockstep() {
    local program=("$1") first=1 current=${COMP_WORDS[COMP_CWORD]} options values i
    COMPREPLY=()
    if [ "${1##*/}" = lockstep ]; then
        if [ "$COMP_CWORD" -eq 1 ]; then
            mapfile -t COMPREPLY < <(compgen -W "$("$1" --help 2> /dev/null | awk '/^  [a-z_]+  / { print $1 }')" -- "$current")
            return
        fi
        program+=("${COMP_WORDS[1]}") first=2
    fi
    options=$(_lockstep_options "${program[@]}")
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(cut -d ' ' -f 1 <<< "$options")" -- "$current")
        return
    fi
    for ((i = COMP_CWORD - 1; i >= first; --i)); do
        [[ ${COMP_WORDS[i]} == -?* ]] || continue
        values=$(awk -v option="${COMP_WORDS[i]}" '$1 == option { print $2; exit }' <<< "$options")
        # Only a list, as of --data, takes more than one word.
        [ "$i" -eq $((COMP_CWORD - 1)) ] || [[ $values == *... ]] || values=-
        break
    done
    case ${values--} in
        BOOL) mapfile -t COMPREPLY < <(compgen -W 'true false' -- "$current") ;;
        *\|*) mapfile -t COMPREPLY < <(compgen -W "${values//|/ }" -- "$current") ;;
        DIR*) _lockstep_files -d ;;
        - | FILE* | PATH*) _lockstep_files -f ;;
    esac
}

complete -F _lockstep lockstep train train_model multiprocessing_train mp_train distributed_train eval_model \
    multiprocessing_eval mp_eval distributed_eval distributed_launch interactive self_chat display_model display_data build_dict
