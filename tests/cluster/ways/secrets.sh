# shellcheck shell=bash
# Munge hands the secret to the same user alone; without it, LOCKSTEP_SECRET or --secret-file; without
# anything, no store that another host could reach.
source "$(dirname "$0")/../checks.sh"
chmod 777 "$work"
mixed='[ "$SLURM_PROCID" = 1 ] || exec COMMAND; exec setpriv --reuid 65534 --clear-groups COMMAND'
expect 3 srun -n2 --mpi=none bash -c "${mixed//COMMAND/${train[*]} --timeout 3}"
says "belongs to another user"

without_munge='exec unshare --mount bash -c "mount -t tmpfs none /run/munge; exec COMMAND"'
hidden=(srun -N2 --ntasks-per-node=4 --mpi=none bash -c "${without_munge//COMMAND/${train[*]}}")
expect 2 "${hidden[@]}"
says "ranks on several hosts need a secret that they share"
LOCKSTEP_SECRET='between us and nobody else' expect 0 "${hidden[@]}"
trained slurm
keeps_quiet_about 'between us and nobody else'
echo from-a-file-nobody-else-may-read > secret
chmod 600 secret
expect 0 srun -N2 --ntasks-per-node=4 --mpi=none \
    bash -c "${without_munge//COMMAND/${train[*]} --secret-file $work/secret}"
trained slurm
keeps_quiet_about from-a-file-nobody-else-may-read
chmod 644 secret
expect 2 srun -N2 --ntasks-per-node=4 --mpi=none "${train[@]}" --secret-file "$work/secret"
says "chmod 600"

# Under PMIx its daemons hand the secret over, where Gloo is chosen and where there is no MPI.
expect 0 "${two_nodes[@]}" --mpi=pmix bash -c "${without_munge//COMMAND/${train[*]} --backend gloo}"
trained mpi
mkdir -p without_mpi
cp "$build/bin/lockstep" without_mpi/
expect 0 "${two_nodes[@]}" --mpi=pmix \
    bash -c "${without_munge//COMMAND/$work/without_mpi/lockstep ${train[*]}}"
trained mpi

differing='export LOCKSTEP_SECRET=the-secret-of-number-$SLURM_PROCID; exec COMMAND'
expect 3 srun -N2 -n2 --mpi=none bash -c "${differing//COMMAND/${train[*]} --timeout 2}"
says "belongs to a job with another secret"
keeps_quiet_about number-0
