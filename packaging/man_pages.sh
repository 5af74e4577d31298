#!/usr/bin/env bash
# Writes the manual pages of all programs from what they say with --help:
#   packaging/man_pages.sh LOCKSTEP FOLDER     to FOLDER/man1: lockstep.1, lockstep-train.1 ..., and the commands' own names
set -euo pipefail
lockstep=${1:?man_pages.sh LOCKSTEP FOLDER} pages=${2:?man_pages.sh LOCKSTEP FOLDER}/man1
day=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(stat -c %Y "$(realpath "$lockstep")")}" +%F)
version=$("$lockstep" --version | head -n 1)
list=$("$lockstep" help)
mkdir -p "$pages"

# page NAME SUMMARY < HELP: the lines before the first blank one are the forms of the command and what it does, those behind
# it are groups of options.
page() {
    awk -v name="$1" -v summary="$2" -v day="$day" -v version="$version" '
        function plain(text) {
            gsub(/\\/, "\\e", text)
            gsub(/-/, "\\-", text)
            sub(/^[.\x27]/, "\\\\\\&&", text)
            return text
        }
        function say(text) { if (text != "") print plain(text) }
        BEGIN {
            printf ".TH %s 1 %s \"%s\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n", toupper(name), day, version, plain(name), plain(summary)
            part = "forms"
        }
        /^ *$/ { if (part == "forms") print ".fi"; part = "options"; next }
        part == "forms" && NR > 1 && !/^(lockstep|distributed_|multiprocessing_|train|interactive)/ {
            part = "text"
            print ".fi\n.SH DESCRIPTION"
        }
        part == "forms" || part == "text" { say($0); next }
        /^[^ ].*:$/ {
            if (!headed) print ".SH OPTIONS"
            headed = 1
            printf ".SS %s\n", plain(substr($0, 1, length($0) - 1))
            next
        }
        /^  --/ {
            line = substr($0, 3)
            place = match(line, /  +/)
            option = place ? substr(line, 1, place - 1) : line
            split(option, words, " ")
            rest = substr(option, length(words[1]) + 2)
            printf ".TP\n.B %s%s\n", plain(words[1]), rest == "" ? "" : " \\fI" plain(rest) "\\fR"
            if (place) say(substr(line, place + RLENGTH))
            next
        }
        { sub(/^ +/, ""); say($0) }
        END { print ".SH SEE ALSO\n.BR lockstep (1)" }'
}

programs=$(awk '/^  [a-z_]+  / { print $1 }' <<< "$list")
for program in $programs; do
    case $program in version | help) continue ;; esac
    summary=$(awk -v program="$program" '$1 == program { $1 = ""; print substr($0, 2) }' <<< "$list")
    "$lockstep" "$program" --help | page "lockstep-$program" "$summary" > "$pages/lockstep-$program.1"
    # These names are commands of every package.
    case $program in
        distributed_* | multiprocessing_*) echo ".so man1/lockstep-$program.1" > "$pages/$program.1" ;;
    esac
done
{
    printf '.TH LOCKSTEP 1 %s "%s"\n.SH NAME\nlockstep \\- %s\n' "$day" "$version" "distributed training of transformers"
    printf '.SH SYNOPSIS\n.B lockstep\n.I PROGRAM\n[options]\n.SH DESCRIPTION\n%s\n' "$(head -n 1 <<< "$list")"
    printf '.B lockstep help PROGRAM\nlists the options of a program, as do the manual pages of the names below.\n.SH PROGRAMS\n'
    awk '/^  [a-z_]+  / { name = $1; $1 = ""; gsub(/-/, "\\-"); printf ".TP\n.B %s\n%s\n", name, substr($0, 2) }' <<< "$list"
    printf '.SH SEE ALSO\n'
    for program in $programs; do
        [ ! -e "$pages/lockstep-$program.1" ] || printf '.BR lockstep\\-%s (1),\n' "$program"
    done | sed '$ s/,$//'
} > "$pages/lockstep.1"
