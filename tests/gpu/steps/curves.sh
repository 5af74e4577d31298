#!/usr/bin/env bash
# Training on a GPU has the losses of training on the CPU, and of PyTorch
source "$(dirname "$0")/../step.sh"
source "$here/training.sh"

some=()
[ "$mode" = gpu ] || some=("--test-case=*loss curve*")
run_tests train "${some[@]}" > output || failed "exit code $?" output
summarize_tests output

prepare_data
device=cuda
steps=50
[ "$mode" = gpu ] || steps=5
printf '\n| precision | loss on the CPU | on the GPU | worst difference, of the loss | allowed |\n' >> table.md
printf '| --- | --- | --- | --- | --- |\n' >> table.md
apart=''
for precision in fp32:1e-3 bf16:0.02; do
    most=${precision#*:} precision=${precision%:*}
    run=("${small_model[@]}" --precision "$precision" --max-train-steps $steps)
    device=cpu train "$precision-cpu" 1 "${run[@]}" || failed "exit code $?" "$precision-cpu.log"
    train "$precision-gpu" 1 "${run[@]}" || failed "exit code $?" "$precision-gpu.log"
    difference=$(worst_difference "$precision-cpu" "$precision-gpu")
    printf '| %s | %s | %s | %s | %s |\n' "$precision" "$(first_and_last "$precision-cpu")" \
        "$(first_and_last "$precision-gpu")" "$difference" "$most" >> table.md
    at_most "$difference" "$most" || apart+="$precision "
done
[ -z "$apart" ] || failed "the losses are further apart than allowed: $apart"
