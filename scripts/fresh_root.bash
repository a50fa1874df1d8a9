# shellcheck shell=bash
# A folder with nothing but Debian 12's minimal base, to be sourced: fresh_root makes it below TMPDIR, calls it $root, and
# removes it when the script ends. Needs root, debootstrap and this machine's apt sources.

fresh_root_clean() {
    local mount
    for mount in dev/shm proc; do
        if mountpoint -q "$root/$mount"; then
            umount "$root/$mount" || umount -l "$root/$mount"
        fi
    done
    # never across a mount that would not go
    rm -rf --one-file-system "$root"
}

# the mirror that this machine uses, in either format of apt's sources
fresh_root_mirror() {
    local mirror
    mirror=$(find /etc/apt -name '*.list' -exec sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) +bookworm .*/\2/p' {} + | head -n 1)
    if [ -z "$mirror" ]; then
        mirror=$(find /etc/apt -name '*.sources' -exec sed -nE 's/^URIs: +([^ ]+\/debian)\/?( .*)?$/\1/p' {} + | head -n 1)
    fi
    [ -n "$mirror" ] || {
        echo "$0: apt has no source of bookworm here to take packages from" >&2
        return 1
    }
    echo "$mirror"
}

fresh_root() {
    local mirror
    [ "$(id -u)" -eq 0 ] || {
        echo "$0: needs root for debootstrap and chroot" >&2
        return 1
    }
    mirror=$(fresh_root_mirror)
    root=$(mktemp -d "${TMPDIR:-/tmp}/meshsim-root-XXXXXX")
    trap fresh_root_clean EXIT
    chmod 755 "$root" # tests run programs as users of no rights, too
    echo "== debootstrap from $mirror"
    debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
        tail -n 20 "$root.log" >&2
        return 1
    }
    rm -f "$root.log"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    # what lets apt reach the mirror from here (a proxy, a clock that is off)
    find /etc/apt/apt.conf.d -type f -exec grep -liE '^ *acquire::(http|https|check-)' {} + |
        while IFS= read -r file; do cp "$file" "$root/etc/apt/apt.conf.d/"; done
    mount -t proc proc "$root/proc"
    mkdir -p "$root/dev/shm"
    mount -t tmpfs tmpfs "$root/dev/shm"
}

# a command in there, with nothing of this machine's environment but its proxy
fresh_root_run() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root ${http_proxy:+http_proxy="$http_proxy"} \
        "$@" </dev/null
}
