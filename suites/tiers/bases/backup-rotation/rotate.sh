#!/bin/sh
# Usage: rotate.sh [--delete] [--last N] [--days N] [--months N] FOLDER
exit 3
