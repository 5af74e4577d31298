# Sourced by the steps that start several ranks. Without GPUs they sum by Gloo.

gpus() { if [ "$mode" = dry ]; then echo "${dry_gpus:-2}"; else gpu_count; fi; }

# Ranks of a step: one for each GPU, at most 4, and at least 2.
several_ranks() {
    local count
    count=$(gpus)
    echo $((count < 2 ? 2 : count > 4 ? 4 : count))
}

share_a_gpu() { [ "$(gpus)" -lt "$1" ]; }

# What is said of figures that were taken so.
said_of_sharing() {
    ! share_a_gpu "$1" || printf '\n%s ranks on one GPU, which NCCL takes for hosts: by sockets, not by NVLink.\n' "$1"
}

# not_run_if_refused FILE [RANKS]: NCCL need not let ranks (2) share a GPU.
not_run_if_refused() {
    local line
    line=$(grep -i 'duplicate gpu\|invalid usage' "$1" | tail -n 1) || return 0
    ! share_a_gpu "${2:-2}" || not_run "NCCL refuses ${2:-2} ranks that share GPUs (visible: $(gpus)): $line"
}
