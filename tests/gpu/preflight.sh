# Sourced: what there is of GPUs, driver and libraries, asked once: the rows of a table, in $preflight. A row has a part,
# what was found ("none: " and why), and what is wrong with it.

# cells PART: found, a tab, wrong; of every GPU for GPU.
cells() {
    awk -F ' *[|] *' -v OFS='\t' -v part="$1" '
        $2 == part || (part == "GPU" && $2 ~ /^GPU [0-9]/) { print $3, $4 }' "$preflight" 2> /dev/null || true
}

found() { cells "$1" | cut -f 1; }

# "GPU 0", or "GPU 0-3" for four that are alike.
gpu_count() {
    awk -F ' *[|] *' '$2 ~ /^GPU [0-9]/ { split(substr($2, 5), ends, "-"); count += ends[2] ? ends[2] - ends[1] + 1 : 1 }
        END { print count + 0 }' "$preflight"
}

# Of the smallest GPU; empty where nobody tells.
gpu_mib() {
    found GPU | sed -n 's/.*[ ,]\([0-9][0-9]*\) MiB.*/\1/p' | sort -n | head -n 1 | grep . ||
        nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits 2> /dev/null | sort -n | head -n 1 || true
}

how_to_get() {
    case $1 in
        cuBLASLt) echo "; pip install nvidia-cublas (-cu12 for a driver of CUDA 12), or the CUDA toolkit" ;;
        cuDNN) echo "; pip install nvidia-cudnn-cu13 (-cu12 for a driver of CUDA 12)" ;;
        NCCL) echo "; pip install nvidia-nccl-cu13 (-cu12 for a driver of CUDA 12), or apt-get install libnccl2" ;;
    esac
}

# wanting PART...: the first of them that is missing or cannot serve, why, and what to do; empty where all can.
wanting() {
    local part found wrong
    for part in "$@"; do
        while IFS=$'\t' read -r found wrong; do
            if [ -n "$wrong" ]; then echo "$part: $wrong"; return; fi
            if [[ $found == none:* ]]; then echo "$part is missing: ${found#none: }$(how_to_get "$part")"; return; fi
        done < <(cells "$part")
    done
}

wanting_gpu() {
    local why
    why=$(wanting driver 'this program' GPU)
    [ -n "$why" ] || [ "$(gpu_count)" != 0 ] || why='no GPU is visible'
    echo "$why"
}
