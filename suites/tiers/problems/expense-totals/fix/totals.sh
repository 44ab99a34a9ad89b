#!/bin/sh
# Usage: totals.sh [--month YYYY-MM] < expenses.csv
month=
if [ $# -eq 2 ] && [ "$1" = --month ]; then
    month=$2
elif [ $# -ne 0 ]; then
    echo "usage: totals.sh [--month YYYY-MM] < expenses.csv" >&2
    exit 2
fi
totals=$(mktemp) || exit 3
trap 'rm -f "$totals"' EXIT
LC_ALL=C awk -F, -v month="$month" '
function trim(text) { gsub(/^[ \t\r]+|[ \t\r]+$/, "", text); return text }
NR == 1 || trim($0) == "" { next }
{
    amount = trim($3)
    if (NF != 3 || amount !~ /^-?[0-9]+(\.[0-9]+)?$/) {
        print "line " NR ": bad" > "/dev/stderr"
        bad = 1
        next
    }
    if (month == "" || index(trim($1), month "-") == 1) sum[tolower(trim($2))] += amount
}
END {
    for (name in sum) printf "%s,%.2f\n", name, sum[name]
    exit bad
}' > "$totals"
status=$?
LC_ALL=C sort -t, -k2,2nr -k1,1 "$totals"
exit "$status"
