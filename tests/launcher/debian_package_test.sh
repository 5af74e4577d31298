#!/usr/bin/env bash
# Debian's packages tell their true size, put only names of their own into /usr/bin, and bring the examples.
#   debian_package_test.sh BUILD
set -euo pipefail
build=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong() { echo "debian_package_test.sh: $*" >&2; exit 1; }

cpack -G DEB --config "$build/CPackConfig.cmake" -B "$scratch/out" > "$scratch/log" 2>&1 || wrong "$(cat "$scratch/log")"
for package in "$scratch"/out/*.deb; do
    tree=$scratch/${package##*/}.tree
    dpkg-deb -x "$package" "$tree"
    says=$(dpkg-deb -f "$package" Installed-Size)
    has=$(du -sk --apparent-size "$tree" | cut -f 1)
    # du counts four KiB for a folder, and no rest of a file's last one.
    [ $((says - has)) -lt 300 ] && [ $((has - says)) -lt 300 ] || wrong "$package: Installed-Size $says, but it has $has KiB"
    case $(dpkg-deb -f "$package" Maintainer) in
        *'@localhost>') wrong "$package: nobody can write to $(dpkg-deb -f "$package" Maintainer)" ;;
        *' <'*@*.*'>') ;;
        *) wrong "$package: the maintainer is $(dpkg-deb -f "$package" Maintainer)" ;;
    esac
    owners=$(dpkg-deb -c "$package" | awk '{print $2}' | sort -u)
    [ "$owners" = root/root ] || wrong "$package: files of $owners"
    [ ! -f "$tree/usr/bin/lockstep" ] || main=$tree
done

names=$(cd "$main/usr/bin" && echo *)
[ "$names" = 'distributed_eval distributed_launch distributed_train lockstep multiprocessing_eval multiprocessing_train' ] ||
    wrong "/usr/bin has $names"
for name in "$build"/bin/*; do
    [ ! -L "$name" ] || "$main/usr/lib/lockstep/bin/${name##*/}" --help > "$scratch/help" 2>&1 ||
        wrong "/usr/lib/lockstep/bin/${name##*/}: $(cat "$scratch/help")"
done
for example in quickstart.sh weights_from_hf.py weights_to_hf.py weights_from_parlai.py weights_to_parlai.py; do
    [ -x "$main/usr/share/doc/lockstep/examples/$example" ] || wrong "examples/$example is not beside README.md"
done
