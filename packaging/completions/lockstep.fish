# SPDX-License-Identifier: Apache-2.0
# Completion for fish: programs, options and their values, as the --help of the program on PATH lists them.

# Prints "OPTION VALUES" for each option of the program whose words are given; short forms of ParlAI too.
function __lockstep_options
    $argv --help 2>/dev/null | awk '
        /^  --/ { option = $1; values = $2 ~ /^[^-(]/ && substr($0, length("  " option) + 1) ~ /^ [^ ]/ ? $2 : "-"; print option, values }
        { line = $0; while (match(line, /\(-[a-z][a-zA-Z0-9-]*\)/)) {
              if (option != "") print substr(line, RSTART + 1, RLENGTH - 2), values
              line = substr(line, RSTART + RLENGTH) } }'
end

function __lockstep_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    if test (basename $words[1]) = lockstep
        if test (count $words) -eq 1
            $words[1] --help 2>/dev/null | awk '/^  [a-z_]+  / { name = $1; $1 = ""; print name "\t" substr($0, 2) }'
            return
        end
        set program $words[1] $words[2]
    end
    set -l options (__lockstep_options $program)
    if string match -q -- '-*' $current
        string split -f 1 ' ' -- $options
        return
    end
    set -l values -
    for line in $options
        set -l parts (string split ' ' -- $line)
        if test "$parts[1]" = "$words[-1]"
            set values $parts[2]
            break
        end
    end
    switch $values
        case BOOL
            printf '%s\n' true false
        case '*|*'
            string split '|' -- $values
        case 'DIR*'
            __fish_complete_directories $current ''
        case - 'FILE*' 'PATH*'
            __fish_complete_path $current
    end
end

for name in lockstep train train_model multiprocessing_train mp_train distributed_train eval_model multiprocessing_eval mp_eval \
        distributed_eval distributed_launch interactive self_chat display_model display_data build_dict
    complete -c $name -f -a '(__lockstep_complete)'
end
