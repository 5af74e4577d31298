# shellcheck shell=bash
# Ranks that cannot start, and know it, all leave MPI in the proper way. Slurm takes a rank that does
# not for a crashed one and kills the others, some of which have not yet said why.
source "$(dirname "$0")/../checks.sh"
export PMIX_MCA_pmix_client_base_verbose=5 # each rank tells that it leaves PMIx

# refuses CODES LINES TEXT COMMAND...: CODES are those of the tasks, each once, the highest last.
refuses() {
    local codes=$1 lines=$2 text=$3 code=0
    shift 3
    output=$(timeout 300 srun -N2 --ntasks-per-node=4 --mpi=pmix "$@" 2>&1 < /dev/null) || code=$?
    [ "$code" = "${codes##* }" ] || fail "exit code $code instead of ${codes##* }"
    local seen
    seen=$(grep -oE "Exited with exit code [0-9]+" <<< "$output" | grep -oE "[0-9]+" | sort -u | xargs)
    [ "$seen" = "$codes" ] || fail "tasks end with $seen instead of $codes"
    keeps_quiet_about "Killed"
    count "$lines" "$text"
    count 8 "finalize sync received"
}

rm -rf "$model"
echo "a wrong number of ranks"
refuses 2 1 "^distributed_train: .*does not divide the 8 ranks" "${train[@]}" --zero 3 --zero-ranks 3
echo "one rank has another option"
# shellcheck disable=SC2016  # srun's shells expand it
refuses 2 2 "^rank [05] on n[12]: --update-freq: 1 on rank 0 .n1., but 2 on rank 5 .n2." \
    bash -c '[ "$SLURM_PROCID" != 5 ] || more="--update-freq 2"; exec "$@" $more' ranks "${train[@]}"
echo "one node lacks the data"
# shellcheck disable=SC2016
refuses "2 3" 4 "^distributed_train: --data .*: not a prepared data set" unshare --mount \
    bash -c '[ "$SLURM_NODEID" = 0 ] || mount -t tmpfs none "$3"; exec "$@"' ranks "${train[@]}"
echo "the disk is too small for the checkpoints"
mkdir -p "$work/small"
# shellcheck disable=SC2016
refuses 2 1 "^rank 0 on n1: .*checkpoints take [0-9]+ MiB, but there are" unshare --mount \
    bash -c 'mount -t tmpfs -o size=3m none "$1"; shift; exec "$@"' ranks "$work/small" \
    "${train[@]}" -mf "$work/small/model" --n-layers 2 --embedding-size 128
echo "every checkpoint is damaged"
expect 0 "${two_nodes[@]}" --mpi=none "${train[@]}"
for file in "$model"/checkpoints/*/model.safetensors; do
    bytes=$(stat -c %s "$file")
    head -c 16 /dev/urandom | dd of="$file" conv=notrunc bs=1 seek=$((bytes / 2)) status=none
    [ "$(stat -c %s "$file")" = "$bytes" ]
done
refuses 2 1 "^distributed_train: .*no checkpoint there is good" "${train[@]}" --max-train-steps 4
echo "the weights of an evaluation are damaged"
truncate -s 100 "$model/model.safetensors"
refuses 2 1 "^rank 0 on n1: .*model.safetensors" distributed_eval -mf "$model" --data "$work/data"
