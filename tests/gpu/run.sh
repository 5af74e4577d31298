#!/usr/bin/env bash
# Everything that only a machine with a GPU can show, on one Markdown page: DIR/page.md (build/gpu-results).
#   tests/gpu/run.sh [--bundle FILE | --build DIR] [--out DIR] [--only STEP,...] [--seconds N] [--dry-run]
# --bundle   a file made by tests/gpu/bundle.sh; without it one is built here (in an unpacked bundle: it is used)
# --build    a folder where the target gpu_bundle is built already
# --out      where an earlier run left its logs.tar.gz, other steps than those of --only stay on the page as they were
# --only     these steps alone, which share the time
# --seconds  in all (530)
# --dry-run  without a GPU: all that can be tried without one
# CUDA's libraries: of the toolkit (CUDA_HOME, /usr/local/cuda), else of python3's nvidia-* packages.
# Exit codes: 0 no step failed, 1 one did, 2 wrong request.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
source "$here/machine.sh"
source "$here/page.sh"

# In this order, since the time may run out: name and the most seconds.
steps=(
    programs:40
    doctor:20
    kernels:100
    gradients:60
    graphs:60
    overflow:30
    curves:60
    ranks:60
    kill:60
    bench_kernels:90
    speed:220
    speed_ragged:170
    trace:60
    allreduce:40
    memcheck:150
    racecheck:200
    speed_large:400
)

wrong() { echo "run.sh: $*" >&2; exit 2; }

mode=gpu bundle='' build='' out=build/gpu-results only='' seconds_in_all=530
while [ $# -gt 0 ]; do
    case $1 in
        --dry-run) mode=dry; shift; continue ;;
        --bundle) bundle=${2:?--bundle needs a file} ;;
        --build) build=${2:?--build needs a folder} ;;
        --out) out=${2:?--out needs a folder} ;;
        --only) only=${2:?--only needs names of steps} ;;
        --seconds) seconds_in_all=${2:?--seconds needs a number} ;;
        *) wrong "$1 is unknown: see the first lines of $0" ;;
    esac
    shift 2
done
for name in ${only//,/ }; do
    [ -f "$here/steps/$name.sh" ] || wrong "--only $name: the steps are ${steps[*]%:*}"
done
[[ $seconds_in_all =~ ^[0-9]+$ ]] || wrong "--seconds $seconds_in_all: it is a number"
[ "$mode" = dry ] || [ -n "$(gpu_names)" ] || wrong "no GPU is visible (nvidia-smi); --dry-run needs none"
[ -z "$bundle" ] || [ -f "$bundle" ] || wrong "--bundle $bundle: there is no such file; tests/gpu/bundle.sh makes it"

mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/bundle begin=0
if [ -z "$bundle" ] && [ -z "$build" ] && [ -f "$here/../../COMMIT" ]; then
    root=$(realpath "$here/../..")
else
    if [ -z "$bundle" ]; then
        bundle=$work/bundle.tar.gz
        "$here/bundle.sh" ${build:+--build "$build"} --out "$bundle"
    fi
    begin=$SECONDS
    mkdir "$root"
    tar -C "$root" -xzf "$bundle"
fi
if [ ! -d "$root/bin" ]; then
    LD_LIBRARY_PATH=$root/lib "$root/xz" -dc "$root/bin.tar.xz" | tar -C "$root" -x
fi
state=$work/state
mkdir "$state"
[ ! -f "$out/logs.tar.gz" ] || tar -C "$state" -xzf "$out/logs.tar.gz"
cuda_libraries=$(cuda_folders)
export root mode cuda_libraries

# last_words FOLDER: of what a step that ran out of time wrote to last.
last_words() {
    local file
    for file in $(ls -t "$1" | grep '\.log$\|^output$\|^errors$' | head -n 3); do
        echo "--- $file"
        tail -n 20 "$1/$file"
    done
}

# run_step NAME SECONDS: its log, verdict, seconds, machine, table and what it keeps are left in $state/NAME. Until
# its end the log is in $out, where it is found when all is cut off.
run_step() {
    local name=$1 begin=$SECONDS code=0 folder=$state/$1 log=$out/running.log
    export seconds=$2
    mkdir "$work/$name"
    # The bundle's own steps: those that its programs know.
    (cd "$work/$name" && exec timeout --kill-after=5 "$seconds" "$root/tests/gpu/steps/$name.sh") \
        > "$log" 2>&1 < /dev/null || code=$?
    case $code in
        0) echo passed ;;
        76) echo "incomplete: $(tail -n 1 "$log")" ;;
        77) echo "not run: $(tail -n 1 "$log")" ;;
        124 | 137) echo "FAILED: not done in $seconds s" ;;
        *) echo "FAILED: exit code $code" ;;
    esac > "$folder/verdict"
    [ $code != 124 ] && [ $code != 137 ] || last_words "$work/$name" >> "$log"
    sed "s#$root/##g; s#$work/##g" "$log" > "$folder/log"
    rm "$log"
    [ ! -f "$work/$name/table.md" ] || mv "$work/$name/table.md" "$folder/"
    [ ! -d "$work/$name/keep" ] || mv "$work/$name/keep" "$folder/"
    rm -rf "${work:?}/$name"
    echo $((SECONDS - begin)) > "$folder/seconds"
}

wanted() { [ -z "$only" ] || [[ ",$only," == *",$1,"* ]]; }

# Of the steps past this one.
seconds_after() {
    local step sum=0 past=''
    for step in "${steps[@]}"; do
        [ -z "$past" ] || ! wanted "${step%:*}" || sum=$((sum + ${step#*:}))
        [ "${step%:*}" != "$1" ] || past=yes
    done
    echo $sum
}

# While the first steps, which are not timed, leave most cores idle, PyTorch compiles what its turns will need.
compile_ahead_s=150
compile_ahead() {
    local name
    wanted kernels || return 0
    for name in speed speed_ragged; do
        ! wanted $name || {
            mkdir "$work/ahead-$name"
            cd "$work/ahead-$name"
            ahead=yes seconds=$compile_ahead_s "$root/tests/gpu/steps/$name.sh" > ahead.log 2>&1 &
        }
    done
    wait
}

# A page that cannot be written ends nothing.
tell() { write_page || echo "run.sh: $out/page.md could not be written" >&2; }

gpu_name=$(gpu_names | head -n 1 | cut -d, -f1 | grep . || echo 'a machine without a GPU')
this_machine=$(name_machine)
describe_machine > "$state/machine.md"
compile_ahead < /dev/null &
failed=0
for step in "${steps[@]}"; do
    name=${step%:*}
    wanted "$name" || continue
    case $name in bench_kernels | speed* | trace | allreduce) wait ;; esac  # for what compiles ahead
    left=$((seconds_in_all + begin - SECONDS))
    if [ "$left" -lt 10 ]; then
        [ -f "$state/$name/verdict" ] || {
            mkdir "$state/$name"
            echo "not run: the time is over" > "$state/$name/verdict"
            echo 0 > "$state/$name/seconds"
            echo "$this_machine" > "$state/$name/machine"
        }
    else
        rm -rf "${state:?}/$name"
        mkdir "$state/$name"
        echo "FAILED: cut off, running.log has what it said" > "$state/$name/verdict"
        echo '' > "$state/$name/seconds"
        echo "$this_machine" > "$state/$name/machine"
        tell
        most=$((left - $(seconds_after "$name")))
        [ "$most" -ge "${step#*:}" ] || most=${step#*:}
        run_step "$name" $((left < most ? left : most))
        ! grep -q '^FAILED' "$state/$name/verdict" || failed=1
    fi
    printf '%-12s %s (%s s)\n' "$name" "$(verdict_of "$name")" "$(cat "$state/$name/seconds")"
    tell
    tar -C "$state" -czf "$work/logs.tar.gz" .
    mv "$work/logs.tar.gz" "$out/"
done
echo "$out/page.md"
exit $failed
