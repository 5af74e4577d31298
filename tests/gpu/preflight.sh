# Sourced: what gpu_libraries has found on this machine, which is asked once: the rows of a table, in $preflight.

# found ROW: what the row says; empty where there is none.
found() { sed -n "s/^| $1 | \(.*\) |\$/\1/p" "$preflight" 2> /dev/null || true; }

# why_missing ROW: empty where it is there.
why_missing() { found "$1" | sed -n 's/^none: //p'; }

gpu_count() { grep -c '^| GPU [0-9][0-9]* | ' "$preflight" || true; }

# Of the smallest GPU; empty where nobody tells.
gpu_mib() { sed -n 's/^| GPU [0-9][0-9]* | .*[ ,]\([0-9][0-9]*\) MiB.*/\1/p' "$preflight" | sort -n | head -n 1; }

how_to_get() {
    case $1 in
        cuBLASLt) echo "pip install nvidia-cublas (-cu12 for a driver of CUDA 12), or the CUDA toolkit" ;;
        cuDNN) echo "pip install nvidia-cudnn-cu13 (-cu12 for a driver of CUDA 12)" ;;
        NCCL) echo "pip install nvidia-nccl-cu13 (-cu12 for a driver of CUDA 12), or apt-get install libnccl2" ;;
    esac
}

# wanting ROW...: the first of them that is missing, why, and what to install; empty where all are there.
wanting() {
    local row why how
    for row in "$@"; do
        why=$(why_missing "$row")
        [ -n "$why" ] || continue
        how=$(how_to_get "$row")
        echo "$row is missing: $why${how:+; $how}"
        return
    done
}
