#!/usr/bin/env bash
# in_chroot.sh ROOT SHARED VERB...: ./dev VERB in the system below ROOT, with SHARED for its test data. By ./dev chroot, in
# mounts of its own (unshare --mount).
set -euo pipefail
root=$1 shared=$2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
[ -d "$shared" ] && mount --bind -o ro "$shared" "$root/work/shared"
exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CI=true \
  bash -c 'cd /work/chakra && git init -q 2>/dev/null && git add -A && ./dev "$@"' dev "${@:3}"
