# Sourced by the tests of run.sh, in this folder: a bundle in $root whose programs and steps are made up.
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,lib,bench,examples/shakespeare,tests/gpu/steps}
cp ./*.sh "$root/tests/gpu/"
echo '0123456789abcdef (a day)' > "$root/COMMIT"
export CUDA_HOME=$root/no-toolkit

# executable FILE LINE...
executable() {
    printf '%s\n' '#!/usr/bin/env bash' "${@:2}" > "$1"
    chmod +x "$1"
}

step() { executable "$root/tests/gpu/steps/$1.sh" "# Step $1" "${@:2}"; }
program() { executable "$root/bin/$1" "${@:2}"; }
own_steps() { for name in "$@"; do cp "steps/$name.sh" "$root/tests/gpu/steps/"; done; }

# machine ROW...: a machine that has all, or what the rows say instead ("NCCL | none: it is not there |").
machine() {
    local row other rows=('driver | 580.65, serves CUDA 13.0 and older |' 'GPU 0 | NVIDIA H100 80GB HBM3, 81559 MiB |'
        'cuBLASLt | 13.0.0 |' 'cuDNN | 9.19.0 |' 'NCCL | 2.28.9 |')
    for row in "$@"; do
        for other in "${!rows[@]}"; do
            [[ ${rows[$other]%% *} != "${row%% *}" ]] || unset "rows[$other]"
        done
        rows+=("$row")
    done
    printf '| %s |\n' 'part | found | what is wrong, and what to do' '--- | --- | ---' "${rows[@]}" > "$root/rows"
    program lockstep "[ \"\$*\" != 'doctor --preflight' ] || cat '$root/rows'"
}

# tests NAME [LINE...]: a program of tests in two files, which pass and say the lines.
tests() {
    printf '<TestCase name="%s" filename="/tests/%s"/>\n' 'one' 'one_test.cpp' 'two' 'attention_library_test.cpp' > "$root/$1.xml"
    program "$1" '[[ $* != *--list-test-cases* ]] || { cat '"'$root/$1.xml'"'; exit; }' "${@:2}" \
        'echo "[doctest] Status: SUCCESS!"'
}

wrong() {
    echo "$(basename "$0"): $*" >&2
    cat "$root/said" "$root/out/page.md" >&2
    exit 1
}

# run CODE OPTION...: has to end so.
run() {
    local expected=$1 code=0
    shift
    "$root/tests/gpu/run.sh" --out "$root/out" "$@" > "$root/said" 2>&1 || code=$?
    [ $code = "$expected" ] || wrong "run.sh $*: exit code $code instead of $expected"
}

page_has() { grep -q -- "$1" "$root/out/page.md" || wrong "the page has no line like: $1"; }
page_lacks() { ! grep -q -- "$1" "$root/out/page.md" || wrong "the page has a line like: $1"; }
