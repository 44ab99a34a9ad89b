#!/bin/sh
# Makes sure that untrusted code can be run somewhere: a working bubblewrap, or a Docker daemon.
# Installs bubblewrap where neither is there and apt may be used; otherwise says what to do.
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
echo "No sandbox works here. Install bubblewrap (apt-get install bubblewrap) with user namespaces allowed," >&2
echo "or start a Docker daemon. codegate never runs untrusted code without one." >&2
exit 4
