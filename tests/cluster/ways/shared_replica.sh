# shellcheck shell=bash
# Ranks of two nodes that share what they keep: by MPI and by Gloo, all of them or those of each
# node. They write their checkpoints together, and other ranks continue from them.
source "$(dirname "$0")/../checks.sh"
for how in pmix none; do
    for share in "--zero 1" "--zero 2 --zero-ranks 4" "--zero 3" "--zero 3 --zero-ranks 4"; do
        # shellcheck disable=SC2086  # two words
        expect 0 "${two_nodes[@]}" "--mpi=$how" "${train[@]}" $share
        same_loss_as_alone
        writers=8
        [[ $share == *ranks* ]] && writers=4
        says "$writers ranks share a replica: ${share% --zero-ranks*}"
        [ "$(find "$model/checkpoints/step-00000002" -name 'part-*' | wc -l)" = $writers ] \
            || fail "another number of parts than $writers"
    done
    output=$(srun -N2 -n6 "--mpi=$how" distributed_train -mf "$model" --max-train-steps 4 --zero 2 2>&1) \
        || fail "it does not continue on six ranks"
    says "continuing after step 2"
done
expect 2 "${two_nodes[@]}" --mpi=pmix "${train[@]}" --zero 3 --zero-ranks 3
