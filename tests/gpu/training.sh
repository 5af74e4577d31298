# Sourced by the steps that train: a small data set, runs on it, and what they leave.
source "$here/ranks.sh"

# In a dry run several ranks are the CPU's, and a step that sets device=cuda has one rank on an emulated GPU.
if [ "$mode" = gpu ]; then device=cuda; else device=cpu; fi

# prepare_data [ROWS [SHARDS]]: dialogues of Shakespeare, in the folder data.
prepare_data() {
    head -n "${1:-600}" "$root/examples/shakespeare/train.txt" > train.txt
    with_libraries show "$root/bin/lockstep" prepare --format parlai --dict-lower true --input train.txt \
        --shards "${2:-2}" --out data > prepare.log 2>&1 || failed "the data could not be prepared" prepare.log
}

small_model=(-m transformer/generator --n-layers 2 --n-heads 4 --embedding-size 64 --ffn-size 128 --dropout 0.1
    --text-truncate 48 --label-truncate 24 --optimizer adam -lr 1e-3 -bs 8 -dynb full)
[ "$mode" = gpu ] || small_model+=(--n-layers 1 --n-heads 2 --embedding-size 16 --ffn-size 16 -bs 2)

# train NAME RANKS OPTION...: a run in the folder NAME, what it says in NAME.log.
train() {
    local name=$1 ranks=$2 start libraries=with_libraries
    shift 2
    if [ "$mode$device" = drycuda ]; then
        start=("$root/bin/lockstep_emulated_gpu" train) libraries=with_emulated_libraries
    elif [ "$ranks" = 1 ]; then
        start=("$root/bin/train")
    elif share_a_gpu "$ranks"; then
        start=("$root/bin/distributed_launch" --nproc-per-node "$ranks" --
            "$here/seeming_host.sh" "$root/bin/distributed_train")
        [ $device = cpu ] || start+=(--allow-shared-gpu true)
    else
        start=("$root/bin/multiprocessing_train" --distributed-world-size "$ranks")
    fi
    [ "$device" = cpu ] || [ "$ranks" = 1 ] || start+=(--gpu-backend "${gpu_backend:-nccl}")
    # Libraries of gigabytes are read from a disk for the first time.
    local timeout_s=60
    [ "$mode" = gpu ] || timeout_s=20
    $libraries show "${start[@]}" --device "$device" --data data -mf "$step_folder/$name" --seed 7 \
        --log-every-n-steps 1 --timeout $timeout_s "$@" > "$name.log" 2>&1
}

# metric NAME KEY: its values in the run's lines, step by step.
metric() { sed -n "s/^{\"kind\":\"train\".*\"$2\":\([^,}]*\).*/\1/p" "$1/metrics.jsonl"; }

# worst_difference A B: between the losses of two runs of the same steps, as a share of the loss.
worst_difference() {
    paste <(metric "$1" loss) <(metric "$2" loss) | awk '
        NF != 2 || $1 + 0 <= 0 { wrong = 1 }
        { d = $1 > $2 ? $1 - $2 : $2 - $1; if (d / $1 > worst) worst = d / $1 }
        END { if (wrong || NR == 0) print "none: the runs have different steps"; else printf "%.2g\n", worst }'
}

at_most() { awk -v value="$1" -v most="$2" 'BEGIN { exit !(value + 0 == value && value <= most) }'; }

first_and_last() { metric "$1" loss | sed -n '1p;$p' | paste -sd ' ' | awk '{ printf "%.4f to %.4f", $1, $2 }'; }

# Processes of the run in the folder NAME: those with the folder among their words.
processes_of() { { grep -lsxzF -- "$step_folder/$1" /proc/[0-9]*/cmdline || true; } | cut -d/ -f3; }
