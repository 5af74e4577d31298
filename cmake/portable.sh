#!/usr/bin/env bash
# Makes a tree of programs that were built on this system run on older ones as well, wherever it is put:
#   cmake/portable.sh TREE [FOLDER]
# TREE/bin/NAME goes to TREE/libexec, and a script that starts it takes its place (cmake/portable/start.sh); links stay.
# lib gets the libraries that the programs need of this system (those in FOLDER are left to the caller), lib/glibc the
# loader and glibc, lib/fallback those of which another system's own are preferred. For x86-64.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
tree=$(realpath "${1:?portable.sh TREE [FOLDER]}") left_out=${2:-/nowhere}
mkdir -p "$tree/libexec" "$tree/lib/glibc" "$tree/lib/fallback"

programs=()
for program in "$tree"/bin/*; do
    [ ! -L "$program" ] || continue
    mv "$program" "$tree/libexec/"
    cp "$here/portable/start.sh" "$program"
    programs+=("$tree/libexec/${program##*/}")
done
[ ${#programs[@]} -gt 0 ] || { echo "portable.sh: $tree/bin has no program" >&2; exit 2; }

# "NAME FILE" of what the loader takes here.
needed=$(ldd "${programs[@]}" | awk '$2 == "=>" {print $1, $3}' | sort -u)
if grep -q ' not$' <<< "$needed"; then
    echo "portable.sh: not found: $(sed -n 's/ not$//p' <<< "$needed" | paste -sd ' ')" >&2
    exit 2
fi
glibc=$(dirname "$(awk '$1 == "libc.so.6" {print $2}' <<< "$needed")")
# Libraries of an older glibc that are opened later may need any of these.
for name in ld-linux-x86-64.so.2 libc.so.6 libm.so.6 libmvec.so.1 libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1 \
    libanl.so.1 libresolv.so.2 libnss_dns.so.2 libnss_files.so.2 libnss_compat.so.2 libBrokenLocale.so.1; do
    [ ! -e "$glibc/$name" ] || cp -L "$glibc/$name" "$tree/lib/glibc/"
done
getconf GNU_LIBC_VERSION | sed 's/^glibc 2\.\([0-9]*\).*/\1/' > "$tree/lib/glibc/minor"

while read -r name file; do
    [ ! -e "$tree/lib/glibc/$name" ] || continue
    case $name in
        # A system with a newer glibc has newer ones, which its own libraries may need.
        libstdc++.so.* | libgcc_s.so.* | libgomp.so.*)
            cp -L "$file" "$tree/lib/fallback/"
            ln -s "../fallback/$name" "$tree/lib/glibc/$name"
            ;;
        # These open a system's drivers, of which they must be a part.
        libibverbs.so.* | libnl-*.so.* | libOpenCL.so.*) cp -L "$file" "$tree/lib/fallback/" ;;
        *) [[ $file == "$left_out"/* ]] || cp -L "$file" "$tree/lib/" ;;
    esac
done <<< "$needed"
