# Sourced: the steps in their order, each with the most seconds that it takes. All of a run's fit into its time, with
# what unpacking and looking at the machine take. What a run leaves of its time goes to the steps of the next ones.
first_run=(programs:20 doctor:15 kernels:150 gradients:35 graphs:40 overflow:15 nccl:30 speed:205)
second_run=(curves:50 ranks:70 kill:50 bench_kernels:70 trace:60 allreduce:40 speed_ragged:170)
third_run=(memcheck:100 racecheck:110 speed_large:300)
steps=("${first_run[@]}" "${second_run[@]}" "${third_run[@]}")
seconds_of_a_run=530
seconds_before_the_steps=20

# seconds_of STEP...: the most that all take.
seconds_of() {
    local step sum=0
    for step in "$@"; do sum=$((sum + ${step#*:})); done
    echo $sum
}

wanted() { [ -z "$only" ] || [[ ",$only," == *",$1,"* ]]; }

# Those past STEP that this run has promised to take.
promised_after() {
    local step promised=("${first_run[@]}") past=''
    [ -z "$only" ] || promised=("${steps[@]}")
    for step in "${promised[@]}"; do
        [ -z "$past" ] || ! wanted "${step%:*}" || echo "$step"
        [ "$step" != "$1" ] || past=yes
    done
}

# fits STEP LEFT: a step that was promised is begun with what is left; another one where it has its time.
fits() {
    local least=10
    [ -n "$only" ] || [ "$mode" = dry ] || [[ " ${first_run[*]} " == *" $1 "* ]] || least=${1#*:}
    [ "$2" -ge "$least" ]
}
