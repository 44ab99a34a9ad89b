#!/bin/sh
# Makes sure that untrusted code can be run somewhere: a working bubblewrap, or a Docker daemon.
# Installs bubblewrap where it is missing and apt may be used; otherwise says what to do.
set -eu
works() {
    command -v bwrap >/dev/null 2>&1 && bwrap --unshare-all --unshare-user --ro-bind / / true 2>/dev/null
}
works && exit 0
. "$(dirname "$0")/apt.sh"
if ! command -v bwrap >/dev/null 2>&1; then
    install_packages bubblewrap && works && exit 0
fi
if command -v docker >/dev/null 2>&1 && docker info >/dev/null 2>&1; then
    exit 0
fi
echo "No sandbox works here, and codegate never runs untrusted code without one. Either" >&2
if ! command -v bwrap >/dev/null 2>&1; then
    echo "- install bubblewrap, as root: apt-get install bubblewrap" >&2
else
    echo "- let bubblewrap make user namespaces; what it says now:" >&2
    bwrap --unshare-all --unshare-user --ro-bind / / true 2>&1 | sed 's/^/    /' >&2 || true
    if [ "$(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns 2>/dev/null)" = 1 ]; then
        echo "  AppArmor forbids it; as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" >&2
    fi
fi
echo "- or start a Docker daemon that this user may use (then \`docker info\` works)." >&2
exit 4
