#!/usr/bin/env bash
# Keeps in TREE/bin of Debian's package only names that say whose they are, such as multiprocessing_train. All names,
# also general ones such as train and eval, are links in TREE/lib/lockstep/bin.
#   cmake/debian-names.sh TREE
set -euo pipefail
tree=${1:?debian-names.sh TREE}
names=$tree/lib/lockstep/bin
mkdir -p "$names"
for link in "$tree"/bin/*; do
    name=${link##*/}
    ln -sfn ../../../bin/lockstep "$names/$name"
    case $name in
        lockstep | distributed_* | multiprocessing_*) ;;
        *) rm "$link" ;;
    esac
done
