#!/usr/bin/env bash
# Corrects Installed-Size in PACKAGE, a .deb file: as dpkg-gencontrol counts, in KiB that are begun, with one for each
# folder and link.
#   cmake/debian-size.sh PACKAGE
set -euo pipefail
package=${1:?debian-size.sh PACKAGE}
work=$(mktemp -d "$package.XXXXXX")
trap 'rm -rf "$work"' EXIT
dpkg-deb --raw-extract "$package" "$work/tree"
size=$(find "$work/tree" -mindepth 1 ! -path "$work/tree/DEBIAN*" -printf '%y %s\n' |
    awk '{size += $1 == "f" ? int(($2 + 1023) / 1024) : 1} END {print size}')
sed -i "s/^Installed-Size: .*/Installed-Size: $size/" "$work/tree/DEBIAN/control"
chmod 755 "$work/tree"
dpkg-deb --root-owner-group -Zgzip --build "$work/tree" "$work/package" > /dev/null
mv "$work/package" "$package"
