#!/usr/bin/env bash
# Accesses beside memory: the kernel tests under compute-sanitizer's memcheck
source "$(dirname "$0")/../step.sh"
source "$here/sanitizer.sh"
sanitize memcheck
