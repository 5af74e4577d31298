#!/usr/bin/env bash
# Several ranks, by NCCL and through the host, have the losses of one rank, whatever they share
source "$(dirname "$0")/../step.sh"
source "$here/training.sh"
needs cuBLASLt NCCL

most=1e-4  # of the loss: sums in another order, in fp32, which Adam makes more of
prepare_data 600 4
ranks=$(($(several_ranks) / 2 * 2))
run=("${small_model[@]}" --precision fp32 --logical-shards 4 --max-train-steps 30)
train one 1 "${run[@]}" || failed "one rank: exit code $?" one.log
printf '| ranks | %s | loss | worst difference, of the loss |\n| --- | --- | --- | --- |\n| 1 | | %s | |\n' \
    'what they share' "$(first_and_last one)" > table.md
apart=''

# like_one RANKS WHAT OPTION...: starts a run of several ranks, which must have the losses of one rank.
like_one() {
    local ranks=$1 what=$2 name=${2// /-} code difference
    shift 2
    train "$name" "$ranks" "${run[@]}" "$@" || {
        code=$?
        not_run_if_refused "$name.log" "$ranks"
        failed "$ranks ranks, $what: exit code $code" "$name.log"
    }
    difference=$(worst_difference one "$name")
    printf '| %s | %s | %s | %s |\n' "$ranks" "$what" "$(first_and_last "$name")" "$difference" >> table.md
    at_most "$difference" $most || apart+="$what; "
}

[ "$mode" = dry ] || gpu_backend=staged like_one "$ranks" 'nothing, through the host'
like_one "$ranks" nothing
like_one "$ranks" 'ZeRO 1' --zero 1
like_one "$ranks" 'ZeRO 3, layers calculated again' --zero 3 --recompute layer
[ "$mode" = dry ] || like_one "$ranks" 'ZeRO 2, optimizer in memory of the host' --zero 2 --offload optimizer
like_one 4 'ZeRO 3, in groups of 2' --zero 3 --zero-ranks 2
said_of_sharing 4 >> table.md
[ -z "$apart" ] || failed "the losses differ by more than $most: $apart"
