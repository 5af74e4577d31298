# shellcheck shell=bash
# srun --pty bash, and what is typed there.
source "$(dirname "$0")/../checks.sh"
expect 0 on_terminal "srun --pty bash" "train ${train[*]:1}" 'echo "code $?"'
says "on 1 rank x"
says "code 0"
# A shell that is one task of eight: the other seven have ended, so this must not wait for them.
expect 0 on_terminal "srun -N2 -n8 --pty bash" "train ${train[*]:1}" 'echo "alone $?"' \
    "${train[*]}" 'echo "code $?"'
says "alone 0"
says "this shell is one task of a Slurm step of 8"
says "code 2"
