#!/usr/bin/env bash
# Replayed CUDA graphs give what the same steps give without them, bit for bit
source "$(dirname "$0")/../step.sh"
source "$here/training.sh"
needs cuBLASLt

prepare_data
device=cuda
# Few different shapes, so that most steps are replays: nearly every row is cut to one length.
precisions=(bf16 fp32 fp16) steps=120 length=8
[ "$mode" = gpu ] || precisions=(fp32) steps=12 length=4

printf '| precision | loss | losses | weights |\n| --- | --- | --- | --- |\n' > table.md
different=0
for precision in "${precisions[@]}"; do
    for graphs in off on; do
        name=$precision-$graphs
        train "$name" 1 "${small_model[@]}" --precision "$precision" --cuda-graphs $graphs --logical-shards 2 \
            --text-truncate $length --label-truncate $length -dynb off --max-train-steps $steps ||
            failed "$precision, --cuda-graphs $graphs: exit code $?" "$name.log"
    done
    losses=equal weights=equal
    [ "$(worst_difference "$precision-off" "$precision-on")" = 0 ] || losses=DIFFERENT
    cmp -s "$precision-off/model.safetensors" "$precision-on/model.safetensors" || weights=DIFFERENT
    [ $losses$weights = equalequal ] || different=1
    printf '| %s | %s | %s | %s |\n' "$precision" "$(first_and_last "$precision-on")" $losses $weights >> table.md
done
[ $different = 0 ] || failed "graphs change what is computed"
