#!/bin/sh
# Starts the program of this name in ../libexec: by this system's loader where its glibc is new enough for what lies
# here, else by the loader and the glibc in ../lib/glibc, which serve this system's drivers and libraries as well.
self=$0
case $self in
    /*) ;;
    */*) self=$PWD/$self ;;
    *) self=$(command -v -- "$self") ;;
esac
file=$(readlink -f -- "$self")
root=${file%/bin/*}
lib=$root/lib
needed=$(cat "$lib/glibc/minor")
here=$(getconf GNU_LIBC_VERSION 2> /dev/null)  # "glibc 2.31"; none where there is another libc
here=${here#glibc 2.}
here=${here%%.*}
loader=/lib64/ld-linux-x86-64.so.2 own=
case $here in
    '' | *[!0-9]*) own=yes ;;
    *) [ "$here" -ge "$needed" ] || own=yes ;;
esac
if [ -n "$own" ]; then
    loader=$lib/glibc/ld-linux-x86-64.so.2
    own=:$lib/glibc
fi
# What must be this system's where it has it, as InfiniBand's library fits its drivers, is in lib/fallback.
systems=/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64
exec "$loader" --argv0 "$self" \
    --library-path "$lib$own${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}:$systems:$lib/fallback" \
    "$root/libexec/${file##*/}" "$@"
