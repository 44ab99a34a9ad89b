#!/bin/sh
# Prints the id of a new commit on top of HEAD whose action.yml names the published image IMAGE@sha256:DIGEST, where
# HEAD's names the Dockerfile: a job that uses that commit pulls the image, and one that uses a fork or a branch builds.
set -eu
image=$1
printf '%s\n' "$image" | grep -Eqx '[a-z0-9./-]+@sha256:[0-9a-f]{64}' ||
    { echo "'$image' names no image by its digest" >&2; exit 2; }
[ "$(grep -cx '  image: Dockerfile' action.yml)" = 1 ] || { echo "action.yml has no line '  image: Dockerfile'" >&2; exit 2; }
index=$(mktemp -d)
trap 'rm -rf "$index"' EXIT
export GIT_INDEX_FILE="$index/index"
git read-tree HEAD
blob=$(sed "s|^  image: Dockerfile\$|  image: docker://$image|" action.yml | git hash-object -w --stdin)
git update-index --cacheinfo "100644,$blob,action.yml"
# The time is that of HEAD: made again, it is the same commit.
GIT_AUTHOR_DATE=$(git show -s --format=%cI HEAD) GIT_COMMITTER_DATE=$(git show -s --format=%cI HEAD) \
    git -c user.name=codegate -c user.email=codegate@users.noreply.github.com \
    commit-tree "$(git write-tree)" -p HEAD -m "ci: use the published image in action.yml"
