#!/usr/bin/env bash
# Races in shared memory: the kernel tests under compute-sanitizer's racecheck
source "$(dirname "$0")/../step.sh"
source "$here/sanitizer.sh"
sanitize racecheck
