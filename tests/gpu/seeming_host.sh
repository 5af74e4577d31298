#!/bin/sh
# seeming_host.sh COMMAND...: a rank that NCCL takes for one on a host of its own, so that several may have one GPU.
NCCL_HOSTID=lockstep-rank-$RANK exec "$@"
