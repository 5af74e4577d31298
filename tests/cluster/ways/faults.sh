# shellcheck shell=bash
# What happens to one rank, or to one host's cable, from outside: all ranks end, the report names the
# victim, nothing stays behind, and Slurm sees that the job has failed.
source "$(dirname "$0")/../checks.sh"
endless=("${train[@]}" --max-train-steps -1 --num-epochs 100000 --log-every-n-steps 1 --timeout 6)

# process_of RANK: under srun and mpirun alike; all nodes share one view of processes.
process_of() {
    local process
    for process in $(ranks_left); do
        ! tr '\0' '\n' < "/proc/$process/environ" 2> /dev/null \
            | grep -qE "^(SLURM_PROCID|OMPI_COMM_WORLD_RANK)=$1$" || echo "$process"
    done
}
ranks_left() { pgrep -f -- "^[^ ]*distributed_train.*-mf $model"; }
all_ranks_end() {
    for _ in $(seq 300); do
        ranks_left > /dev/null || return 0
        sleep 0.1
    done
    fail "ranks live on: $(ps -ef | grep -- "-mf $model")"
}
# The node's cable on both networks.
cable() { ip link set "ve77${1#n}" "$2" && ip link set "ve78${1#n}" "$2"; }

# faulty FAULT LAUNCHER...: calls the function FAULT in the midst of training.
faulty() {
    local fault=$1 code=0
    shift
    echo "+ $fault: $*"
    rm -rf "$model"
    "$@" "${endless[@]}" > "out.$way" 2>&1 < /dev/null &
    local job=$!
    for _ in $(seq 900); do
        [ ! -s "$model/metrics.jsonl" ] || break
        sleep 0.1
    done
    sleep 1
    local begin=$EPOCHREALTIME
    $fault
    wait "$job" || code=$?
    output=$(cat "out.$way")
    awk -v b="$begin" -v e="$EPOCHREALTIME" -v c="$code" 'BEGIN { printf "  code %d after %.1f s\n", c, e - b }'
    [ "$code" -ne 0 ] || fail "exit code 0"
    all_ranks_end
}
slurm_sees_failure() { [ "$(squeue --noheader --states=all --name "$1" --format=%T)" = FAILED ]; }
# faulty_step FAULT MPI
faulty_step() {
    local name=faulty-$1-$2
    faulty "$1" srun -N2 --ntasks-per-node=4 --job-name "$name" --mpi "$2"
    for _ in $(seq 100); do
        ! slurm_sees_failure "$name" || return 0
        sleep 0.1
    done
    squeue --states=all
    fail "Slurm does not see that the job has failed"
}
# named RANK HOST CAUSE, each a pattern
named() {
    local field
    for field in "\"rank\": $1" "\"host\": \"$2\"" "\"cause\": \"$3\""; do
        grep -q "^  $field" "$model/failure.json" || fail "not $field: $(cat "$model/failure.json")"
    done
    grep -m1 '^  "report"' "$model/failure.json"
}

kill_0() { kill -KILL "$(process_of 0)"; }
kill_5() { kill -KILL "$(process_of 5)"; }
stop_0() { kill -STOP "$(process_of 0)"; }
stop_5() { kill -STOP "$(process_of 5)"; }
# All ranks end although no launcher reaches those behind the cut; then the cable is put back.
cut_n1() { cable n1 down; all_ranks_end; cable n1 up; }
cut_n2() { cable n2 down; all_ranks_end; cable n2 up; }
trap 'cable n1 up; cable n2 up' EXIT

faulty_step kill_0 none
named 0 n1 lost
count 1 "the run has failed: rank 0 on n1"
# Slurm's PMIx kills all ranks as soon as it sees that one is gone. A few times it is faster than the report.
for _ in 1 2 3 4 5; do
    faulty_step kill_5 pmix
    grep -qE "^srun: error: n2: tasks? .*Killed" <<< "$output" || fail "srun does not say that a task was killed"
    [ ! -e "$model/failure.json" ] || break
done
named 5 n2 lost
count 1 "the run has failed: rank 5 on n2"
faulty_step stop_5 none
named 5 n2 silent
count 1 "the run has failed: rank 5 on n2"
faulty_step stop_0 pmix
named 0 n1 silent
faulty_step cut_n2 none
named "[0-7]" "n[12]" silent
faulty_step cut_n1 pmix
named "[0-7]" "n[12]" silent

across=(mpirun --mca plm rsh --mca plm_rsh_agent "$here/remote_shell.sh"
    --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24)
faulty kill_0 "${across[@]}" -np 8 --host n1:4,n2:4
named 0 n1 lost
faulty cut_n1 "${across[@]}" -np 8 --host n1:4,n2:4
named "[0-7]" "n[12]" silent
