# Sourced: where CUDA's libraries are on this machine, and what it is. Needs $root, the unpacked bundle.

# Folders of the toolkit and of Python's nvidia-* packages, separated by colons; run.sh asks once.
cuda_folders() {
    local folder
    for folder in "${CUDA_HOME:-/usr/local/cuda}"/lib64 /usr/local/nvidia/lib64; do
        [ ! -d "$folder" ] || printf '%s:' "$folder"
    done
    python3 -c '
import glob, nvidia
print(":".join(folder for path in nvidia.__path__ for folder in glob.glob(path + "/*/lib")))' 2> /dev/null || true
}

# with_libraries COMMAND...: CUDA's libraries beside the bundle's. Not exported: Python's torch has its own.
with_libraries() { LD_LIBRARY_PATH=$cuda_libraries:${LD_LIBRARY_PATH:-} "$@"; }

with_emulated_libraries() { LD_LIBRARY_PATH=$root/lib/emulated "$@"; }

# What the program sees of CUDA, of GPUs and of libraries: rows of a table, and the first to load these libraries'
# gigabytes.
look_at_libraries() { with_libraries timeout 60 "$root/bin/lockstep" doctor --preflight 2> /dev/null | grep '^|' || true; }

gpu_names() {
    nvidia-smi --query-gpu=name,memory.total,power.limit,driver_version --format=csv,noheader 2> /dev/null ||
        sed -n 's/^NVRM version: //p' /proc/driver/nvidia/version 2> /dev/null || true
}

# In a line: GPU, driver, commit, date.
name_machine() {
    echo "$(gpu_names | head -n 1 | awk -F ', ' '{ print $1 (NF > 3 ? ", driver " $4 : "") }' | grep . ||
        found GPU | grep -v '^none' | head -n 1 | grep . || echo 'no GPU'),"\
        "commit $(cut -c 1-10 "$root/COMMIT")$(grep -o ' with .*' "$root/COMMIT" || true), $(date -u '+%Y-%m-%d %H:%M UTC')"
}

# A row of describe_machine's table, by itself since torch may be read from a disk for a quarter of a minute.
describe_python() {
    printf '| python3 | %s |\n' "$(timeout 60 python3 -c 'import sys, torch; print(sys.executable, "torch", torch.__version__)' 2> /dev/null || echo 'has no torch')"
}

# Rows of a table.
describe_machine() {
    local line
    [ ! -s "$preflight" ] || { cat "$preflight"; echo; }
    printf '| | |\n| --- | --- |\n'
    gpu_names | while read -r line; do printf '| GPU, memory, power limit, driver | %s |\n' "$line"; done
    printf '| processor | %s, %s cores |\n' \
        "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
    printf '| kernel, glibc | %s, %s |\n' "$(uname -r)" "$(getconf GNU_LIBC_VERSION)"
    printf '| commit | %s |\n| date | %s |\n' "$(cat "$root/COMMIT")" "$(date -u '+%Y-%m-%d %H:%M UTC')"
}
