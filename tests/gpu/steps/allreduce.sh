#!/usr/bin/env bash
# How fast GPUs sum, by NCCL
source "$(dirname "$0")/../step.sh"
source "$here/ranks.sh"
needs NCCL
dry_gpus=1  # as most machines have

ranks=$(several_ranks)
bench=("$root/bin/bench_allreduce")
if share_a_gpu "$ranks"; then
    start=("$root/bin/distributed_launch" --nproc-per-node "$ranks" -- "$here/seeming_host.sh" "${bench[@]}" --allow-shared-gpu)
else
    start=("${bench[@]}" --ranks "$ranks")
fi
if [ "$mode" = dry ]; then start+=(--backend gloo --max-bytes 65536 --repeats 5); else start+=(--backend nccl); fi
with_libraries show "${start[@]}" > output 2>&1 || {
    code=$?
    not_run_if_refused output
    failed "exit code $code" output
}
awk '$1 == "bytes" { print "| bytes | median, us | 99th percentile, us | GB/s of the buffer | GB/s of each link |"
                     print "| --- | --- | --- | --- | --- |" }
     NF == 5 && $1 + 0 == $1 { printf "| %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5 }' output > table.md
[ "$(wc -l < table.md)" -gt 3 ] || failed "no figures" output
said_of_sharing "$ranks" >> table.md
