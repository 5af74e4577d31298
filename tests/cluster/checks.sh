# shellcheck shell=bash
# Sourced by each of ways/, which runs on the control host of the test cluster: a tiny training, and
# checks of how it ends. Every check that fails ends the test with what was seen.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$work"
cd "$work"
model=$work/model.$way
train=(distributed_train --data "$work/data" -mf "$model" -m transformer/generator --n-layers 1
    --n-heads 2 --embedding-size 16 --ffn-size 16 -bs 1 --max-train-steps 2 --precision fp32
    --timeout 30 --verbose)
two_nodes=(srun -N2 --ntasks-per-node=4)
output=""
runs=0

fail() {
    echo "FAILED: $*"
    echo "$output" | tail -n 60
    exit 1
}

# expect CODE COMMAND...: the command ends with this code, or with one that is not 0 where CODE is
# "failure"; its output is what the other checks read.
expect() {
    local wanted=$1 code=0
    shift
    echo "+ $*"
    rm -rf "$model"
    # With one session folder for all, mpiruns that follow each other remove it for the next.
    export OMPI_MCA_orte_tmpdir_base=/tmp/mpi.$way.$((++runs))
    local limit=(timeout 300)
    [ "$(type -t "$1")" != function ] || limit=()
    output=$("${limit[@]}" "$@" 2>&1 < /dev/null) || code=$?
    if [ "$wanted" = failure ]; then
        [ "$code" -ne 0 ] || fail "exit code 0"
        return 0
    fi
    [ "$code" -eq "$wanted" ] || fail "exit code $code instead of $wanted"
}

says() { grep -qF -- "$1" <<< "$output" || fail "it does not say: $1"; }
keeps_quiet_about() { ! grep -qF -- "$1" <<< "$output" || fail "it says: $1"; }

# count N PATTERN: lines that match.
count() {
    local lines
    lines=$(grep -cE -- "$2" <<< "$output" || true)
    [ "$lines" -eq "$1" ] || fail "$lines lines instead of $1 match: $2"
}

# trained SOURCE: eight ranks, four a node, each once, found their places there and trained together.
trained() {
    count 1 "^placed by $1,"
    count 3 "^rank [1-3] on n1: placed by $1,"
    count 4 "^rank [4-7] on n2: placed by $1,"
    says "on 8 ranks x"
    count 1 "^start-up took"
    same_loss_as_alone
}

# The loss on the valid set is that of eight ranks on one machine: the ranks' sums were right.
same_loss_as_alone() {
    local loss
    loss=$(grep -m1 -E 'the model with the (best|last) weights' <<< "$output" | sed 's/.*loss \([0-9.]*\).*/\1/')
    awk -v a="$loss" -v b="$(cat "$work/loss")" \
        'BEGIN { d = a - b; exit !(b > 0 && d < 0.002 && d > -0.002) }' \
        || fail "loss $loss, but $(cat "$work/loss") on one machine"
}

# only RANK COMMAND: a shell for srun, in which the other ranks end at once.
only() { printf '[ "$SLURM_PROCID" = %s ] || exit 0; exec %s' "$1" "${*:2}"; }

# on_terminal COMMAND LINE...: types the lines into what the command opens on a terminal of its own.
on_terminal() {
    local command=$1
    shift
    printf '%s\n' "$@" exit > "typed.$way"
    timeout 300 script -qec "$command" /dev/null < "typed.$way" | tr -d '\r'
}
