#!/usr/bin/env bash
# Everything that only a machine with a GPU can show, on one Markdown page: DIR/page.md (build/gpu-results).
#   tests/gpu/run.sh [--bundle FILE | --build DIR] [--out DIR] [--only STEP,...] [--dry-run]
# --bundle   a file made by tests/gpu/bundle.sh; without it one is built here (in an unpacked bundle: it is used)
# --build    a folder where the target gpu_bundle is built already
# --dry-run  without a GPU: all that can be tried without one
# CUDA's libraries: of the toolkit (CUDA_HOME, /usr/local/cuda), else of python3's nvidia-* packages.
# --only     these steps, each as long as there is time
# Exit codes: 0 no step failed, 1 one did, 2 wrong request.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
source "$here/machine.sh"
source "$here/page.sh"

# In this order, since the time may run out: name and the most seconds.
steps=(
    programs:20
    doctor:15
    kernels:90
    gradients:30
    curves:60
    overflow:15
    ranks:45
    kill:45
    graphs:40
    bench_kernels:60
    speed:170
    trace:45
    allreduce:20
    memcheck:150
    racecheck:150
)
seconds_in_all=530

wrong() { echo "run.sh: $*" >&2; exit 2; }

mode=gpu bundle='' build='' out=build/gpu-results only=''
while [ $# -gt 0 ]; do
    case $1 in
        --dry-run) mode=dry; shift; continue ;;
        --bundle) bundle=${2:?--bundle needs a file} ;;
        --build) build=${2:?--build needs a folder} ;;
        --out) out=${2:?--out needs a folder} ;;
        --only) only=${2:?--only needs names of steps} ;;
        *) wrong "$1 is unknown: see the first lines of $0" ;;
    esac
    shift 2
done
for name in ${only//,/ }; do
    [ -f "$here/steps/$name.sh" ] || wrong "--only $name: the steps are ${steps[*]%:*}"
done
[ "$mode" = dry ] || [ -n "$(gpu_names)" ] || wrong "no GPU is visible (nvidia-smi); --dry-run needs none"
[ -z "$bundle" ] || [ -f "$bundle" ] || wrong "--bundle $bundle: there is no such file; tests/gpu/bundle.sh makes it"

mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/bundle
if [ -z "$bundle" ] && [ -z "$build" ] && [ -f "$here/../../COMMIT" ]; then
    root=$(realpath "$here/../..")
else
    if [ -z "$bundle" ]; then
        bundle=$work/bundle.tar.gz
        "$here/bundle.sh" ${build:+--build "$build"} --out "$bundle"
    fi
    mkdir "$root"
    tar -C "$root" -xzf "$bundle"
fi
if [ ! -d "$root/bin" ]; then
    LD_LIBRARY_PATH=$root/lib "$root/xz" -dc "$root/bin.tar.xz" | tar -C "$root" -x
fi
export root mode

# run_step NAME SECONDS: leaves its log, verdict and seconds in $work.
run_step() {
    local name=$1 begin=$SECONDS code=0
    export seconds=$2
    mkdir "$work/$name"
    # The bundle's own steps: those that its programs know.
    (cd "$work/$name" && exec timeout --kill-after=5 "$seconds" "$root/tests/gpu/steps/$name.sh") \
        > "$work/$name.log" 2>&1 < /dev/null || code=$?
    case $code in
        0) echo passed ;;
        76) echo "incomplete: $(tail -n 1 "$work/$name.log")" ;;
        77) echo "not run: $(tail -n 1 "$work/$name.log")" ;;
        124 | 137) echo "FAILED: not done in $seconds s" ;;
        *) echo "FAILED: exit code $code" ;;
    esac > "$work/$name.verdict"
    echo $((SECONDS - begin)) > "$work/$name.seconds"
}

describe_machine > "$work/machine.md"
done_steps=()
begin=$SECONDS
for step in "${steps[@]}"; do
    name=${step%:*}
    [ -z "$only" ] || [[ ",$only," == *",$name,"* ]] || continue
    left=$((begin + seconds_in_all - SECONDS))
    if [ "$left" -lt 5 ]; then
        echo "not run: the time is over" > "$work/$name.verdict"
        echo 0 > "$work/$name.seconds"
        : > "$work/$name.log"
    else
        most=${step#*:}
        [ -z "$only" ] || most=$left
        run_step "$name" $((left < most ? left : most))
    fi
    done_steps+=("$name")
    printf '%-12s %s (%s s)\n' "$name" "$(cat "$work/$name.verdict")" "$(cat "$work/$name.seconds")"
    write_page
done
(cd "$work" && tar -czf "$out/logs.tar.gz" "${done_steps[@]/%/.log}" $(ls -d ./*/keep 2> /dev/null))
echo "$out/page.md"
! grep -q '^FAILED' "$work"/*.verdict
