#!/bin/sh
# Usage: rotate.sh [--delete] [--last N] [--days N] [--months N] FOLDER
LC_ALL=C
export LC_ALL

usage() {
    echo "usage: rotate.sh [--delete] [--last N] [--days N] [--months N] FOLDER" >&2
    exit 2
}

delete= last=0 days=0 months=0 given= folder= folders=0 plain=
while [ $# -gt 0 ]; do
    word=$1
    shift
    if [ -z "$plain" ]; then
        case $word in
            --delete) delete=yes; continue ;;
            --last | --days | --months)
                [ $# -gt 0 ] || usage
                case $1 in '' | *[!0-9]*) usage ;; esac
                case $word in --last) last=$1 ;; --days) days=$1 ;; *) months=$1 ;; esac
                given=yes
                shift
                continue ;;
            --) plain=yes; continue ;;
            -*) usage ;;
        esac
    fi
    folder=$word
    folders=$((folders + 1))
done
[ "$folders" -eq 1 ] && [ -n "$given" ] && [ -d "$folder" ] || usage
cd -- "$folder" 2> /dev/null || usage

going=$(
    for file in * .*; do
        case $file in
            *-[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]-[0-9][0-9][0-9][0-9][0-9][0-9].tar.gz) ;;
            *) continue ;;
        esac
        case $file in -????????-??????.tar.gz) continue ;; esac
        [ -f "./$file" ] && [ ! -L "./$file" ] || continue
        kept=0
        [ -e "./$file.keep" ] && kept=1
        stamp=${file%.tar.gz}
        time=${stamp##*-}
        stamp=${stamp%-*}
        printf '%s %s %s\n' "${stamp##*-}$time" "$kept" "$file"
    done | sort -r | awk -v last="$last" -v days="$days" -v months="$months" '
    {
        stamp = substr($0, 1, 14)
        marked = substr($0, 16, 1) == "1"
        file = substr($0, 18)
        name = substr(file, 1, length(file) - length("-YYYYMMDD-HHMMSS.tar.gz"))
        day = substr(stamp, 1, 8)
        month = substr(stamp, 1, 6)
        keep = marked || !count[name]
        if (++count[name] <= last) keep = 1
        if (!((name, day) in seen_day)) {
            seen_day[name, day] = 1
            if (++day_count[name] <= days) keep = 1
        }
        if (!((name, month) in seen_month)) {
            seen_month[name, month] = 1
            if (++month_count[name] <= months) keep = 1
        }
        if (!keep) print file
    }' | sort
)
[ -n "$going" ] || exit 0
printf '%s\n' "$going"
[ -n "$delete" ] || exit 0
printf '%s\n' "$going" | {
    status=0
    while IFS= read -r file; do
        rm -f -- "./$file" || status=1
    done
    exit "$status"
}
