# shellcheck shell=bash
# Our own launchers on the cluster: distributed_launch on two nodes, multiprocessing_train on one, and
# a job script from submit.
source "$(dirname "$0")/../checks.sh"
expect 0 srun -N2 --ntasks-per-node=1 --cpus-per-task=4 --mpi=none \
    distributed_launch --nnodes 2 --nproc-per-node 4 "${train[@]}"
trained torchrun
# Typed on each host by itself, in torchrun's own spelling; any program can be the ranks.
by_hand='distributed_launch --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_PROCID --master_addr=n1 --master_port=29611'
expect 0 srun -N2 --ntasks-per-node=1 --mpi=none bash -c "$by_hand --log_dir $work/logs -- ${train[*]}"
# With a folder of logs, lines of Lockstep's ranks have their time.
output=$(sed -E 's/^(\[rank [0-9]+\] )?([0-9-]+T[0-9:+-]+ )?//' <<< "$output")
trained torchrun
[ "$(find "$work/logs/attempt_0" -name stdout.log | wc -l)" -eq 8 ] || fail "not a log of each rank"
expect 0 srun -N2 --ntasks-per-node=1 --mpi=none \
    bash -c "$by_hand"' sh -c "echo rank \$RANK of \$WORLD_SIZE at \$MASTER_ADDR, \$LOCAL_RANK in \$GROUP_RANK"'
count 4 "^rank ([0-3]) of 8 at n1, \\1 in 0$"
count 4 "^rank [4-7] of 8 at n1, [0-3] in 1$"
expect 0 srun -n1 --mpi=none multiprocessing_train --distributed-world-size 2 "${train[@]:1}"
says "on 2 ranks x"

# Nothing but a shell on each host: the ranks are told by flags.
by_flags() {
    local rank processes=() code=0
    for rank in 0 1; do
        "$here/remote_shell.sh" "n$((rank + 1))" "cd $work && exec ${train[*]} --rank $rank \
            --world-size 2 --master-addr n1 --master-port 29600" &
        processes+=($!)
    done
    for rank in 0 1; do wait "${processes[rank]}" || code=$?; done
    return $code
}
expect 0 by_flags
count 1 "^placed by flags,"
count 1 "^rank 1 on n2: placed by flags,"
says "on 2 ranks x"

# The store and the watchdogs listen on the addresses that the ranks need, and on no other.
rm -rf "$model"
srun -N2 --ntasks-per-node=1 --mpi=none "${train[@]}" --max-train-steps -1 --num-epochs 100000 \
    --interface eth1 --master-addr n1-second > listening.out 2>&1 < /dev/null &
job=$!
for _ in $(seq 300); do [ -s "$model/metrics.jsonl" ] && break || sleep 0.1; done
# The program starts anew under its own name unless the environment says how threads wait.
output=$(nsenter --net=/run/netns/n1 ss -Hltnp | grep -E 'lockstep|distributed_tra' || true)
kill -TERM "$job"
wait "$job" || true
says "10.78.0.1:"
keeps_quiet_about "10.77.0.1:"
keeps_quiet_about "0.0.0.0:2"
keeps_quiet_about "*:2"

# submitted MPI: a job script is written, queued, and runs to its end.
submitted() {
    rm -f submitted.sbatch submitted-*.out
    expect 0 lockstep submit -N 2 --ntasks-per-node 4 --gpus-per-node 4 --job-name submitted --mpi "$1" \
        -- "${train[@]}"
    local job
    job=$(grep -oE '[0-9]+' <<< "$output" | tail -n 1)
    until squeue --noheader --states=all --jobs "$job" --format=%T 2> /dev/null \
        | grep -qE 'COMPLETED|FAILED|CANCELLED|TIMEOUT'; do sleep 0.1; done
    output=$(sed -E 's/^[0-9-]+T[0-9:+-]+ //' "submitted-$job.out" && scontrol show job "$job")
    says "JobState=COMPLETED"
}
submitted none
trained slurm
submitted pmix
trained mpi
