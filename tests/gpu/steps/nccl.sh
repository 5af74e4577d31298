#!/usr/bin/env bash
# NCCL's communicator: collectives, parts, registered memory, time-outs and aborts, with as many ranks as there are GPUs
source "$(dirname "$0")/../step.sh"
source "$here/test_files.sh"
needs NCCL

by_file comm ''
# A process has a GPU for each rank, so that one GPU shows what one rank can.
grep -hs '^not run: ' ./*.log | sort -u > but || true
[ -s but ] || rm but
