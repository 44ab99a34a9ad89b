#!/bin/sh
# Makes a virtual environment: venv.sh PYTHON FOLDER. Debian and Ubuntu ship Python without ensurepip;
# where that is missing and apt may be used, it is installed.
set -eu
python=$1
folder=$2
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "codegate needs Python 3.11 or newer; '$python' is not, or is not there." >&2
    echo "Install one and name it: make PYTHON=python3.12 ..." >&2
    exit 2
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    . "$(dirname "$0")/apt.sh"
    install_packages "python$version-venv" || {
        echo "Python's venv module is missing. As root: apt-get install python$version-venv" >&2
        exit 2
    }
fi
rm -rf "$folder"
"$python" -m venv "$folder"
