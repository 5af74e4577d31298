#!/usr/bin/env bash
# One node of the test cluster, in its own network namespace: a host name, a private /tmp, slurmd.
#   node.sh NAME FOLDER...     the folders stay visible even where they are under /tmp
set -euo pipefail
name=$1
shift
mount --make-rprivate /
hostname "$name"
kept=/run/cluster/$name
mkdir -p "$kept/tmp"
chmod 1777 "$kept/tmp"
number=0
for folder in "$@"; do
    mkdir -p "$kept/$((++number))"
    mount --rbind "$folder" "$kept/$number"
done
mount --bind "$kept/tmp" /tmp
number=0
for folder in "$@"; do
    number=$((number + 1))
    folder=$(realpath -m "$folder")
    case $folder in
        /tmp/*) mkdir -p "$folder"; mount --rbind "$kept/$number" "$folder" ;;
    esac
done
echo $$ > "$kept/pid"
exec slurmd -N "$name" -D
