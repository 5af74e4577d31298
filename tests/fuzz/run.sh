#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzzer of a build for some seconds of processor time, as many at once as there are processors, with low priority.
#
#   tests/fuzz/run.sh SECONDS [BUILD [TARGET ...]]     # BUILD: build-asan
#
# A target ends after SECONDS of processor time, at the latest after ten times as long; with 0, after each input of
# the corpus has been run once. Inputs that pass new basic blocks are kept in BUILD/fuzz/TARGET and given to the next
# run; SEED (1) changes what is tried. An input that fails is BUILD/fuzz/fuzz_TARGET-HASH. Exit code 1 if there is one,
# 2 for a wrong request. Do not run it as the superuser on a host with files that matter.
# `cmake --build BUILD --target fuzzers` makes the programs.
set -euo pipefail
if [[ ! ${1:-} =~ ^[0-9]+$ ]]; then
    sed -n '3,11s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
seconds=$1
build=${2:-$here/../../build-asan}
[[ -d $build ]] || { echo "run.sh: $build: there is no such build folder; give BUILD before the targets" >&2; exit 2; }
build=$(cd "$build" && pwd)
targets=("${@:3}")
if [[ ${#targets[@]} == 0 ]]; then
    for source in "$here"/*_fuzz.cpp; do
        targets+=("$(basename "$source" _fuzz.cpp)")
    done
fi
for target in "${targets[@]}"; do
    [[ -x $build/bin/fuzz_$target ]] && continue
    echo "run.sh: $build/bin/fuzz_$target: there is no such program; make the fuzzers by cmake --build $build --target fuzzers" >&2
    exit 2
done
[[ ${SEED:-1} =~ ^[0-9]+$ ]] || { echo "run.sh: SEED=$SEED: give a whole number" >&2; exit 2; }
[[ -d /dev/shm && -w /dev/shm ]] && export TMPDIR=${TMPDIR:-/dev/shm}

run_target() {
    local target=$1 words=$here/words/$1.txt given=("$here/corpus/$1")
    case $target in
        *_json | jsonl | messages) words=$here/words/json.txt ;;
    esac
    local options=(--seconds "$seconds" --seed "${SEED:-1}" --failures "$build/fuzz")
    # The 256 pieces of bytes alone take four kilobytes.
    [[ $target == sentencepiece_model ]] && options+=(--max-bytes 8192)
    [[ -e $words ]] && options+=(--words "$words")
    if [[ $seconds != 0 ]]; then
        mkdir -p "$build/fuzz/$target"
        given+=("$build/fuzz/$target")
        options+=(--kept "$build/fuzz/$target")
    fi
    # Reports of the sanitizers are shown only if the target fails.
    local log=$build/fuzz/$target.log
    local code=0
    nice "$build/bin/fuzz_$target" "${options[@]}" "${given[@]}" > "$log" 2>&1 || code=$?
    [[ $code == 0 ]] && tail -n 1 "$log" && return
    cat "$log"
    [[ $code == 2 ]] || echo "the fuzzer $target has found a failure" >&2
    return 1
}
export -f run_target
export here build seconds

mkdir -p "$build/fuzz"
printf '%s\n' "${targets[@]}" |
    xargs -P "$(nproc)" -I '{}' bash -c 'run_target {}' || exit 1
