#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# hidden_folder.sh FOLDER PROGRAM [ARGS]: runs a rank. Rank 1 has an empty folder of its own where the
# others have FOLDER, as on a host that does not share it. Needs root.
set -u
folder=$1
shift
[ "$RANK" != 1 ] && exec "$@"
mkdir -p "$folder"
# shellcheck disable=SC2016  # the inner shell expands them
exec unshare --mount bash -c 'mount -t tmpfs none "$0" && exec "$@"' "$folder" "$@"
