#!/usr/bin/env bash
# Everything that only a machine with a GPU can show, on one Markdown page: DIR/page.md (build/gpu-results).
#   tests/gpu/run.sh [--bundle FILE | --build DIR] [--out DIR] [--only STEP,...] [--seconds N] [--dry-run]
# --bundle   a file made by tests/gpu/bundle.sh; without it one is built here (in an unpacked bundle: it is used)
# --build    a folder where the target gpu_bundle is built already
# --out      where an earlier run left its logs.tar.gz, other steps than those of --only stay on the page as they were
# --only     these steps alone, which share the time; without it those of the first run in plan.sh, and of the
#            others what the time is left for
# --seconds  in all (530)
# --dry-run  without a GPU: all that can be tried without one
# CUDA's libraries: of the toolkit (CUDA_HOME, /usr/local/cuda), else of python3's nvidia-* packages.
# Exit codes: 0 every step passed or could not run here, 1 one failed or is incomplete, 2 wrong request.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
source "$here/plan.sh"
source "$here/machine.sh"
source "$here/preflight.sh"
source "$here/page.sh"

usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; }
wrong() { echo "run.sh: $*" >&2; exit 2; }

mode=gpu bundle='' build='' out=build/gpu-results only='' seconds_in_all=$seconds_of_a_run
while [ $# -gt 0 ]; do
    case $1 in
        --dry-run) mode=dry; shift; continue ;;
        --help | -h) usage; exit 0 ;;
        --bundle | --build | --out | --only | --seconds) [ -n "${2:-}" ] || wrong "$1 needs a value" ;;
        *) wrong "$1 is unknown: --help lists the options" ;;
    esac
    case $1 in
        --bundle) bundle=$2 ;;
        --build) build=$2 ;;
        --out) out=$2 ;;
        --only) only=$2 ;;
        --seconds) seconds_in_all=$2 ;;
    esac
    shift 2
done
for name in ${only//,/ }; do
    [[ " ${steps[*]%:*} " = *" $name "* ]] || wrong "--only $name: the steps are ${steps[*]%:*}"
done
[[ $seconds_in_all =~ ^[1-9][0-9]{0,5}$ ]] || wrong "--seconds $seconds_in_all: it is a number from 1 to 999999"
[ -z "$bundle" ] || tar -tzf "$bundle" > /dev/null 2>&1 ||
    wrong "--bundle $bundle: there is no such file, or it is no bundle; tests/gpu/bundle.sh makes one"

mkdir -p "$out" 2> /dev/null || wrong "--out $out: the folder cannot be made: name another one"
out=$(realpath "$out")
work=$(mktemp -d)
compilers=()
trap 'kill "${compilers[@]}" 2> /dev/null || true; rm -rf "$work"' EXIT
source "$here/take_step.sh"
describe_python > "$work/python.md" 2> /dev/null < /dev/null &
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
preflight=$work/preflight.md
export root mode cuda_libraries preflight

look_at_libraries > "$preflight"
[ -s "$preflight" ] || wrong "$root/bin/lockstep doctor --preflight prints no table: does the program start here?"
[ "$mode" = dry ] || [ -n "$(gpu_names)" ] || [ "$(gpu_count)" != 0 ] ||
    wrong "no GPU is visible ($(wanting_gpu)); --dry-run needs none"
this_machine=$(name_machine)
describe_machine > "$state/machine.md"
cat "$state/machine.md"

# A page that cannot be written ends nothing.
tell() { write_page || echo "run.sh: $out/page.md could not be written" >&2; }

keep_logs() {
    tar -C "$state" -czf "$work/logs.tar.gz" .
    mv "$work/logs.tar.gz" "$out/"
}

# While the first steps, which are not timed, leave cores idle, PyTorch compiles what its turns will need: after
# them for the processor, and with a share of the GPU's memory that leaves them theirs.
compile_ahead_s=150
compile_ahead() {
    local name share=0.4
    wanted kernels || return 0
    for name in speed speed_ragged; do
        ! wanted $name || {
            mkdir "$work/ahead-$name"
            (cd "$work/ahead-$name" && ahead=$share seconds=$compile_ahead_s exec \
                nice -n 19 timeout $compile_ahead_s "$root/tests/gpu/steps/$name.sh" > ahead.log 2>&1 < /dev/null) &
            compilers+=($!)
        }
        share=0.15
    done
}

compile_ahead
failed=0
for step in "${steps[@]}"; do
    name=${step%:*}
    wanted "$name" || continue
    # What is timed has the machine to itself.
    case $name in bench_kernels | speed* | trace | allreduce) [ ${#compilers[@]} = 0 ] || wait "${compilers[@]}" || true ;; esac
    [ -z "$cut_off" ] || continue
    left=$((seconds_in_all + begin - SECONDS))
    if ! fits "$step" $left; then
        [ -f "$state/$name/verdict" ] || set_verdict "$name" "not run: the time is over: $left s of ${step#*:} were left"
    else
        rm -rf "${state:?}/$name"
        set_verdict "$name" "incomplete: cut off, running.log has what it said" ''
        tell
        mapfile -t others < <(promised_after "$step")
        most=$((left - $(seconds_of "${others[@]}")))
        [ "$most" -ge "${step#*:}" ] || most=${step#*:}
        run_step "$name" $((left < most ? left : most))
        ! grep -q '^FAILED\|^incomplete' "$state/$name/verdict" || failed=1
    fi
    printf '%-12s %s (%s s)\n' "$name" "$(verdict_of "$name")" "$(cat "$state/$name/seconds")"
    tell
    keep_logs
done
[ -z "$cut_off" ] || failed=1
again=$(for_another_run)
[ -z "$again" ] || echo "for another run: --only $again"
echo "$out/page.md"
exit $failed
