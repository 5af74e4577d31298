#!/usr/bin/env bash
# Several ranks, by NCCL and through the host, have the losses of one rank
source "$(dirname "$0")/../step.sh"
source "$here/training.sh"
needs cuBLASLt NCCL

most=1e-4  # of the loss: sums in another order, in fp32, which Adam makes more of
prepare_data
ranks=$(several_ranks)
run=("${small_model[@]}" --precision fp32 --logical-shards "$ranks" --max-train-steps 30)
train one 1 "${run[@]}" || failed "one rank: exit code $?" one.log
if [ "$mode" = gpu ]; then
    gpu_backend=staged train staged "$ranks" "${run[@]}" || failed "$ranks ranks through the host: exit code $?" staged.log
    difference=$(worst_difference one staged)
    at_most "$difference" $most || failed "through the host the losses differ by $difference, more than $most"
fi
train several "$ranks" "${run[@]}" || {
    code=$?
    not_run_if_refused several.log
    failed "$ranks ranks: exit code $code" several.log
}
difference=$(worst_difference one several)
printf '| ranks | loss | worst difference, of the loss |\n| --- | --- | --- |\n| 1 | %s | |\n| %s | %s | %s |\n' \
    "$(first_and_last one)" "$ranks" "$(first_and_last several)" "$difference" > table.md
said_of_sharing "$ranks" >> table.md
at_most "$difference" $most || failed "the losses differ by more than $most"
