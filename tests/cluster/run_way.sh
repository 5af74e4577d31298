#!/usr/bin/env bash
# Runs one of ways/ inside the cluster that cluster.sh has started.
#   run_way.sh STATE BUILD NAME
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/in_cluster.sh" "$1" "$2" env way="$3" bash "$here/ways/$3.sh"
