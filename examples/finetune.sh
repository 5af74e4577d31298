#!/usr/bin/env bash
# From a model of transformers and a file of conversations to a model that answers: prepares the file with the model's own
# tokenizer and chat template, trains adapters (LoRA) beside the model, evaluates, merges them, and answers the first prompts
# of the held-out part.
#   examples/finetune.sh FOLDER TALKS.jsonl OUT [OPTION...]     options are those of `train`; OUT is a new folder
# FOLDER is as transformers saves it. TALKS.jsonl has lines as {"messages": [...]} or {"prompt": ..., "completion": ...}
# (docs/chat.md). `lockstep` is on the PATH, or in build/bin. RANKS=2 trains on two ranks.
set -euo pipefail
if [ $# -lt 3 ]; then
    echo "finetune.sh: name the model's folder, the file of conversations and a new folder for the results" >&2
    exit 2
fi
folder=$1 talks=$2 out=$3
shift 3
if [ -e "$out" ]; then
    echo "finetune.sh: $out: is there already; name a new folder" >&2
    exit 2
fi
bin=$(dirname "$(dirname "$(realpath "$0")")")/build/bin
command -v lockstep > /dev/null || PATH=$bin:$PATH
say() { printf '\n== %s\n' "$*"; }
mkdir -p "$out"

say "1/5  conversations to HDF5 shards"
lockstep prepare --like "$folder" --format messages --input "$talks" --valid-fraction 0.1 --out "$out/data"

say "2/5  adapters beside $folder"
multiprocessing_train --distributed-world-size "${RANKS:-1}" --data "$out/data" -mf "$out/run" --init-model "$folder" \
    --lora-r 16 -lr 2e-4 --lr-scheduler cosine --warmup-ratio 0.03 --num-epochs 3 -bs 4 --validation-every-n-epochs 1 \
    --skip-generation true "$@"

say "3/5  the model as it came, and with its adapters"
for model in "$folder" "$out/run"; do
    lockstep eval -mf "$model" --data "$out/data" --split valid --skip-generation true
done

say "4/5  one model, in the form of the folder that came"
lockstep checkpoint convert "$out/run" "$out/merged" --merge

say "5/5  replies"
lockstep display_model -mf "$out/merged" --data "$out/data" --split valid -n 3 --max-length 40
say "talk to it:  interactive -mf $out/merged"
