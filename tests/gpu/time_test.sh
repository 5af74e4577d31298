#!/usr/bin/env bash
# run.sh's time: a run's steps fit into it, what does not fit waits for another run, a run that is ended leaves a page,
# and what PyTorch compiles ahead is in nobody's way.
set -euo pipefail
cd "$(dirname "$0")"
source ./made_up_bundle.sh
source ./plan.sh
for several in first_run second_run third_run; do
    declare -n taken=$several
    sum=$(($(seconds_of "${taken[@]}") + seconds_before_the_steps))
    [ $sum -le $seconds_of_a_run ] || wrong "$several takes $sum s of $seconds_of_a_run"
done
[ "$(printf '%s\n' "${steps[@]%:*}" | sort)" = "$(basename -s .sh steps/*.sh | sort)" ] || wrong "plan.sh has other steps than steps/"
place_of() { printf '%s\n' "${steps[@]%:*}" | grep -nx "$1" | cut -d: -f1; }
for name in curves kill; do
    [ "$(place_of speed)" -lt "$(place_of $name)" ] || wrong "$name comes before speed, which it may cut off"
done
[[ " ${steps[*]} " == *' kernels:150 '* ]] || wrong "the kernels have less than 150 s"

machine
for name in "${steps[@]%:*}"; do step "$name" "echo 'figures of $name' > table.md"; done
run 0 --seconds 49
for name in "${first_run[@]%:*}"; do page_has "^| \[$name\].* | passed |"; done
page_has '^| \[curves\].* | not run: the time is over: [0-9]* s of 50 were left |'
page_has '^For another run: `--only curves,ranks,kill,bench_kernels'
grep -q '^for another run: --only curves,' "$root/said" || wrong "the screen does not say what is left"
run 0 --only curves --seconds 45
page_has '^| \[curves\].* | passed |'

# A step may be incomplete and leave no file.
step curves "echo 'half of it'; exit 76"
run 1 --only curves
page_has '^| \[curves\].* | incomplete: half of it |'

# Somebody ends the run.
rm -r "$root/out"
step kernels "echo 'figures so far' > table.md; echo 'the last words' > 'one part.log'; echo \$\$ > '$root/step'; sleep 600"
"$root/tests/gpu/run.sh" --out "$root/out" --only kernels,gradients > "$root/said" 2>&1 &
job=$!
until [ -s "$root/step" ]; do sleep 0.1; done
page_has '^| \[kernels\].* | incomplete: cut off'
kill -TERM $job
code=0
wait $job || code=$?
[ $code = 1 ] || wrong "exit code $code instead of 1 for a run that was ended"
page_has '^| \[kernels\].* | incomplete: the run was ended after [0-9]* s of it |'
page_has '^figures so far'
page_has '^the last words'
page_lacks '^| \[gradients\]'
! kill -0 "$(cat "$root/step")" 2> /dev/null || wrong "the step goes on"

# PyTorch compiles beside the kernels' tests, in less than their share of the memory.
rm -r "$root/out"
own_steps speed speed_ragged
step kernels 'until [ -f '"'$root/compiled'"' ]; do sleep 0.1; done'
mkdir "$root/python"
echo 'class cuda: is_available = staticmethod(lambda: True)' > "$root/python/torch.py"
export PYTHONPATH=$root/python
cat > "$root/bench/torch_peer.py" <<'END'
import os, sys
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
print(os.environ.get('ahead', ''), *sys.argv, file=open(root + '/turns', 'a'))
if '--memory-share' in sys.argv and '--lengths' in sys.argv:
    open(root + '/compiled', 'w')
print('{"tokens_per_s": 500}')
END
program bench_train_step "echo ours \"\$@\" >> '$root/turns'" 'echo "{\"tokens_per_s\": 1000, \"p50_ms\": 2, \"p99_ms\": 3, \"host_us\": 70}"'
run 0 --only kernels,speed,speed_ragged
ahead=$(sed '/^ours/,$d' "$root/turns")
shares=$(sed -n 's/.*--memory-share \([0-9.]*\).*/\1/p' <<< "$ahead" | sort -u | awk '{ sum += $1 } END { print 100 * sum }')
[ "$(wc -l <<< "$ahead")" = 4 ] || wrong "turns before the first that is timed: $ahead"
[ "$(grep -c memory-share <<< "$ahead")" = 4 ] || wrong "a turn ahead has no share of the memory: $ahead"
[ "$shares" -le 60 ] || wrong "what compiles ahead takes $shares % of the memory"
! sed '1,/^ours/d' "$root/turns" | grep memory-share || wrong "a timed turn has only a share of the memory"
page_has '^| gpt2 124M, length 1024, rows 32, .* | 1000 | .* | 500 | 2.00 x '

# A peer that hangs takes no figure of ours along.
rm -r "$root/out"
echo 'import time; time.sleep(600)' > "$root/bench/torch_peer.py"
run 1 --only speed --seconds 40
page_has '^| \[speed\].* | incomplete: '
page_has '^| 64 | 1000 |'
page_has '^| gpt2 124M, length 1024, rows 8 | 1000 | .* | 1.500 | 70 |'
page_has '^| GPT-2 124M, 8 rows: host, us a step | 70 | 100 |'
