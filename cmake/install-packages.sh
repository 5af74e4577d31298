#!/usr/bin/env bash
# Installs the Debian packages listed in the given files that are missing. Without root it prints the
# exact line to type and stops with exit code 2.
set -euo pipefail
mapfile -t wanted < <(grep -hv '^#' "$@")
missing=()
for package in "${wanted[@]}"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
    echo "These Debian packages are missing; type this, then start again:" >&2
    echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 2
fi
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# The tests start the daemons they need themselves: nothing is to run on this machine because its
# package was installed (and where there is no init to start it, the installation would fail).
policy=/usr/sbin/policy-rc.d
made=
if [ ! -e "$policy" ]; then
    made=$policy
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
fi
trap 'rm -f "$log" $made' EXIT
# munge makes its key as its own user, which a container whose / is closed to others does not allow;
# one that exists is taken over.
if [[ " ${missing[*]} " == *" munge "* ]] && [ ! -e /etc/munge/munge.key ]; then
    mkdir -p /etc/munge
    chmod 700 /etc/munge
    (umask 377; head -c 1024 /dev/urandom > /etc/munge/munge.key)
fi
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } > "$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "apt-get could not install: ${missing[*]}" >&2
    exit 2
fi
