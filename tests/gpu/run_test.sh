#!/usr/bin/env bash
# run.sh with steps that fail without a word, crash and hang: the others run, the page says what happened, and a later
# run of one step leaves the others on the page.
set -euo pipefail
cd "$(dirname "$0")"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,tests/gpu/steps}
cp ./*.sh "$root/tests/gpu/"
echo '0123456789abcdef (a day)' > "$root/COMMIT"

step() { printf '#!/usr/bin/env bash\n# Step %s\n%s\n' "$1" "$2" > "$root/tests/gpu/steps/$1.sh"; chmod +x "$root/tests/gpu/steps/$1.sh"; }
wrong() { echo "run_test.sh: $*" >&2; cat "$root/out/page.md" >&2; exit 1; }
run() { "$root/tests/gpu/run.sh" --dry-run --out "$root/out" "$@" > "$root/said" 2>&1; }
page_has() { grep -q -- "$1" "$root/out/page.md" || wrong "the page has no line like: $1"; }

step programs "echo 'figures of programs' > table.md"
step doctor "echo '$ only a command'; exit 1"
step kernels "echo 'before the crash'; kill -SEGV \$\$"
step gradients "echo 'figures so far' > table.md; echo 'the last words' > output; sleep 600"
code=0
run --only programs,doctor,kernels || code=$?
[ $code = 1 ] || wrong "exit code $code instead of 1: $(cat "$root/said")"
code=0
run --only gradients --seconds 25 || code=$?  # a busy machine may take half of it to begin
[ $code = 1 ] || wrong "exit code $code instead of 1: $(cat "$root/said")"
page_has '^| \[programs\].* | passed |'
page_has '^figures of programs'
page_has '^| \[doctor\].* | FAILED: exit code 1 |'
page_has '^| \[kernels\].* | FAILED: exit code 139 |'
page_has '^before the crash'
page_has '^| \[gradients\].* | FAILED: not done in [0-9]* s |'
page_has '^figures so far'
page_has '^the last words'
page_has '^1 of 4 steps passed, 3 failed'

step doctor "echo 'figures of doctor' > table.md"
run --only doctor || wrong "the doctor alone: exit code $?: $(cat "$root/said")"
page_has '^figures of doctor'
page_has '^figures of programs'
page_has '^| \[kernels\].* | FAILED: exit code 139 |'
page_has '^2 of 4 steps passed, 2 failed'

code=0
run --only nothing || code=$?
[ $code = 2 ] || wrong "an unknown step: exit code $code instead of 2"
