#!/usr/bin/env bash
# Communication hidden behind backward
source "$(dirname "$0")/../step.sh"
source "$here/training.sh"
needs cuBLASLt NCCL

prepare_data 4000
ranks=$(several_ranks)
run=("${small_model[@]}" --precision bf16 --max-train-steps 12)
[ "$mode" = dry ] || run=(-m transformer/generator --n-layers 6 --n-heads 8 --embedding-size 512 --ffn-size 2048
    --text-truncate 128 --label-truncate 128 --optimizer adam -lr 1e-4 -bs 128 -dynb full --precision bf16
    --bucket-mb 8 --max-train-steps 25)
warm_up=5

# row NAME: means over the steps past the first.
row() {
    paste <(metric "$1" seconds) <(metric "$1" seconds_buckets) <(metric "$1" seconds_buckets_not_hidden) |
        awk -v name="$1" -v warm_up=$warm_up 'NR > warm_up { s += $1; b += $2; w += $3; n++ }
            END { if (b <= 0) exit 1
                  printf "| %s | %.2f | %.2f | %.2f | %.0f %% |\n", name, 1e3 * s / n, 1e3 * b / n, 1e3 * w / n,
                      w < b ? 100 * (1 - w / b) : 0 }'
}

printf '| | step, ms | all-reduces, ms | waited for, ms | hidden |\n| --- | --- | --- | --- | --- |\n' > table.md
for name in overlap no-overlap; do
    options=(--trace "$name.json")
    [ $name = overlap ] || options+=(--no-overlap true)
    train $name "$ranks" "${run[@]}" "${options[@]}" || {
        code=$?
        not_run_if_refused $name.log
        failed "$name: exit code $code" $name.log
    }
    row $name >> table.md || failed "the run $name has no time of all-reduces" $name/metrics.jsonl
    grep -q '"cat":"communication"' $name.json || failed "$name.json shows no communication"
done
said_of_sharing "$ranks" >> table.md
printf '\nhttps://ui.perfetto.dev shows overlap.json and those of the other ranks, which are in logs.tar.gz.\n' >> table.md
mkdir keep
mv ./*.json* keep/
