#!/usr/bin/env bash
# A rank is killed: the others end, one report names it, no process is left
source "$(dirname "$0")/../step.sh"
source "$here/training.sh"
needs cuBLASLt NCCL
dry_gpus=1  # as most machines have

trap 'processes_of model | xargs -r kill -KILL 2> /dev/null || true' EXIT
rank_of() { tr '\0' '\n' 2> /dev/null < "/proc/$1/environ" | sed -n 's/^RANK=//p'; }

prepare_data
ranks=$(several_ranks)
train model "$ranks" "${small_model[@]}" --precision fp32 --num-epochs 100000 &
job=$!
until [ -s model/metrics.jsonl ]; do
    kill -0 $job 2> /dev/null || { not_run_if_refused model.log; failed "the run has ended before its first step" model.log; }
    sleep 0.2
done
sleep 1.5  # so that the ranks have told where they are
victim=''
for process in $(processes_of model); do
    [ "$(rank_of "$process")" != 1 ] || victim=$process
done
[ -n "$victim" ] || failed "no process of rank 1 was found" model.log
echo "SIGKILL to rank 1, process $victim"
begin=$SECONDS
kill -KILL "$victim"
code=0
wait $job || code=$?
ended=$((SECONDS - begin))
sleep 1
left=$(processes_of model | wc -l)
report=$(grep -m 1 '^the run has failed' model.log || true)
printf '| | |\n| --- | --- |\n| exit code | %s |\n| over after | %s s |\n| processes left | %s |\n| report | %s |\n' \
    "$code" "$ended" "$left" "$report" > table.md
[ "$code" = 1 ] || [ "$code" = 3 ] || failed "exit code $code, expected 1 or 3" model.log
[[ $report == *"rank 1 "* ]] || failed "the report does not name rank 1" model.log
[ -s model/failure.json ] || failed "there is no failure.json" model.log
[ "$left" = 0 ] || failed "$left processes are left" model.log
