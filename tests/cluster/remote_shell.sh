#!/usr/bin/env bash
# What mpirun takes for ssh: [options] HOST COMMAND...
while [[ $1 == -* ]]; do shift; done
host=$1
shift
exec nsenter --target "$(cat "/run/cluster/$host/pid")" --mount --net --uts bash -c "$*"
