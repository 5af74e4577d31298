#!/usr/bin/env bash
# The completions of bash, zsh and fish offer programs, options, short forms and values as --help tells them, and so do
# the manual pages.
#   completions_test.sh FOLDER_OF_PROGRAMS
set -euo pipefail
PATH=$(realpath "$1"):$PATH
completions=$(realpath "$(dirname "$0")/../../packaging/completions")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdir folder
touch file

# shellcheck disable=SC2317 # called by its name, as the two below
in_bash() {
    # shellcheck disable=SC2016,SC2317
    bash --norc -c '. "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _lockstep "$1"; printf "%s\n" "${COMPREPLY[@]}"' \
        "$completions/lockstep.bash" "$@"
}
# The functions that zsh's own completion gives, so that what is offered is printed.
# shellcheck disable=SC2317
in_zsh() {
    # shellcheck disable=SC2016,SC2317
    zsh -f -c 'compadd() { print -l -- ${(M)@[2,-1]:#${words[CURRENT]}*} }
        _describe() { print -l -- ${${(P)2}%%:*} | grep "^${words[CURRENT]}" }
        _files() { [[ $1 == -/ ]] && print -l -- *(/) || print -l -- * }
        file=$1; shift; words=("$@"); CURRENT=$#words; source $file' zsh "$completions/_lockstep" "$@"
}
# shellcheck disable=SC2317
in_fish() {
    local words="${*:1:$#-1} ${*: -1}"
    HOME=$scratch/home fish --no-config -c "source $completions/lockstep.fish; complete -C '$words'" | cut -f 1 | sed 's:/$::'
}
status=0
offers() {
    local expected=$1 shell found
    shift
    for shell in in_bash in_zsh in_fish; do
        found=$({ "$shell" "$@" || true; } | { grep -v '^home$' || true; } | LC_ALL=C sort -u | paste -sd ' ')
        [ "$found" = "$expected" ] || { echo "completions_test.sh: $shell: '$*': '$found', not '$expected'"; status=1; }
    done
}
offers 'multiprocessing_eval multiprocessing_train' lockstep mult
offers '--optimizer' lockstep train --opti
offers 'adafactor adam adamw' lockstep train --optimizer a
offers 'adafactor adam adamw' lockstep train -opt a
offers 'auto bf16 fp16 fp32' multiprocessing_train --precision ''
offers 'false true' lockstep train --verbose ''
offers 'folder' lockstep train --model-file ''
offers 'file folder' lockstep checkpoint convert ''
offers '' lockstep train --n-layers ''
offers '-mf' lockstep checkpoint list -m
offers '' lockstep nothing --o

wrong() { echo "completions_test.sh: $*"; status=1; }
"$completions/../man_pages.sh" "$(command -v lockstep)" man
for page in man/man1/*.1; do
    name=${page##*/} name=${name%.1}
    if command -v mandoc > log; then
        mandoc -T lint -W error "$page" > log 2>&1 || wrong "$page: $(head -n 1 log)"
    fi
    grep -q '^\.so ' "$page" || [ "$name" = lockstep ] || for option in $(lockstep "${name#lockstep-}" --help | awk '/^  --/ { print $1 }'); do
        grep -qxF -- ".B ${option//-/\\-}" <(sed 's/ \\fI.*//' "$page") || wrong "$page: has no $option"
    done
    if command -v man > log; then
        (cd man && MANWIDTH=80 man --warnings -E UTF-8 -l "../$page" > "$scratch/shown" 2> "$scratch/log") || wrong "$page: man fails"
        [ ! -s log ] || wrong "$page: $(head -n 1 log)"
        grep -q '^NAME' shown || wrong "$page: man shows no NAME"
    fi
done
[ -e man/man1/lockstep-train.1 ] && [ -e man/man1/distributed_train.1 ] || wrong "manual pages are missing"
exit "$status"
