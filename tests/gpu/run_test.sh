#!/usr/bin/env bash
# run.sh with steps that fail without a word, crash and hang: the others run, the page says what happened, and a later
# run of one step leaves the others on the page.
set -euo pipefail
cd "$(dirname "$0")"
source ./made_up_bundle.sh
machine

step programs "echo 'figures of programs' > table.md"
step doctor "echo '$ only a command'; exit 1"
step kernels "echo 'before the crash'; kill -SEGV \$\$"
step gradients "echo 'figures so far' > table.md; echo 'the last words' > output; sleep 600"
run 1 --dry-run --only programs,doctor,kernels
run 1 --dry-run --only gradients --seconds 25  # a busy machine may take half of it to begin
page_has '^| \[programs\].* | passed |'
page_has '^figures of programs'
page_has '^| \[doctor\].* | FAILED: exit code 1 |'
page_has '^| \[kernels\].* | FAILED: exit code 139 |'
page_has '^before the crash'
page_has '^| \[gradients\].* | incomplete: not done in [0-9]* s |'
page_has '^figures so far'
page_has '^the last words'
page_has '^1 of 4 steps passed, 2 failed, 1 incomplete'
page_has '^For another run: `--only gradients`'

step doctor "echo 'figures of doctor' > table.md"
run 0 --dry-run --only doctor
page_has '^figures of doctor'
page_has '^figures of programs'
page_has '^| \[kernels\].* | FAILED: exit code 139 |'
page_has '^2 of 4 steps passed, 1 failed, 1 incomplete'

step kernels "kill -KILL \$\$"
run 1 --dry-run --only kernels
page_has '^| \[kernels\].* | FAILED: killed |'

# Goals stand beside what was measured and reckoned.
mkdir "$root/docs"
echo '| tokens/s | | | 1.97 us: 507,000 (goal 500,000) | 19.8 us: 50,600 (goal 46,000) |' > "$root/docs/cuda.md"
step speed "printf 'best\ttokens_per_s\t512345\njitter\tjitter\t1.020\n' > figures"
run 0 --only speed
page_has '^| GPT-2 124M, tokens/s | 512345 | 500,000 | 507,000 |'
page_has '^| GPT-2 124M, 8 rows: p99/p50 of a step | 1.020 | 1.05 |'
page_has '^| GPT-2 1.5B, tokens/s | not measured | 46,000 | 50,600 |'
run 0 --dry-run --only speed
page_has '^| GPT-2 124M, tokens/s | not measured | 500,000 | 507,000 |'

run 2 --dry-run --only nothing
# Wrong requests begin nothing.
for request in "--only ../take_step" --only "--seconds 08" "--bundle $0" --unknown; do
    read -ra words <<< "$request"
    run 2 --dry-run "${words[@]}"
done
[ "$(./run.sh --help | grep -c '^--')" -ge 5 ]
