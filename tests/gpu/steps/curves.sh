#!/usr/bin/env bash
# Training on a GPU has the losses of training on the CPU, and of PyTorch
source "$(dirname "$0")/../step.sh"
source "$here/test_files.sh"
source "$here/training.sh"
needs cuBLASLt

some=()
[ "$mode" = gpu ] || some=("--test-case=*loss curve*")
by_file train '' "${some[@]}"

prepare_data
device=cuda
steps=50
[ "$mode" = gpu ] || steps=5
printf '\n| precision | worst difference, of the loss | allowed |\n| --- | --- | --- |\n' >> table.md
apart=''
for precision in fp32:1e-3 bf16:0.02; do
    most=${precision#*:} precision=${precision%:*}
    run=("${small_model[@]}" --precision "$precision" --max-train-steps "$steps")
    device=cpu train "$precision-cpu" 1 "${run[@]}" || failed "exit code $?" "$precision-cpu.log"
    train "$precision-gpu" 1 "${run[@]}" || failed "exit code $?" "$precision-gpu.log"
    difference=$(worst_difference "$precision-cpu" "$precision-gpu")
    printf '| %s | %s | %s |\n' "$precision" "$difference" "$most" >> table.md
    at_most "$difference" "$most" || apart+="$precision "
done
{
    printf '\n| step | fp32, CPU | fp32, GPU | bf16, CPU | bf16, GPU |\n| --- | --- | --- | --- | --- |\n'
    paste <(metric fp32-cpu loss) <(metric fp32-gpu loss) <(metric bf16-cpu loss) <(metric bf16-gpu loss) |
        awk 'NR == 1 || NR % 5 == 0 { printf "| %d | %.5f | %.5f | %.5f | %.5f |\n", NR, $1, $2, $3, $4 }'
} >> table.md
[ -z "$apart" ] || failed "the losses are further apart than allowed: $apart"
