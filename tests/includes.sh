#!/bin/sh
# Dependencies point one way (HACKING.md): this reads every #include "…" of src/ and kernels/ and holds it against the
# list of folders below, then looks for circles of files. HACKING.md also names the files that start threads or wait for
# a condition.
set -eu

# A folder, and the folders that it may include besides itself. A file names a header of its own folder by the bare
# name, one of another with its folder in front.
layers()
{
    cuda=kernels/cuda
    cat <<END
base          :
model         : base
peers         : base
kernels       : base model
kernels/cpu   : base model kernels
$cuda/shared  : base model kernels
$cuda/ladder  : base model kernels $cuda/shared
$cuda/volumes : base model kernels $cuda/shared
$cuda/pictures : base model kernels $cuda/shared
$cuda/fluxes  : base model kernels $cuda/shared
$cuda/sums    : base model kernels $cuda/shared
$cuda/ranks   : base model kernels $cuda/shared $cuda/ladder
$cuda         : base model kernels $cuda/shared $cuda/ladder $cuda/volumes $cuda/pictures $cuda/fluxes $cuda/sums $cuda/ranks
png           : base model
zarr          : base model
format        : base model png zarr
plan          : base model peers kernels format
run           : base model peers kernels format plan
pipeline      : base model peers zarr kernels format plan run
bench         : base model kernels format plan
cli           : base model peers kernels format plan run pipeline bench
END
}

# Lines "FILE LINE INCLUDED", files without src/ in front.
includes()
{
    (cd "$1" && find src kernels -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inl' \)) | sort |
        while IFS= read -r file; do
            awk -v file="${file#src/}" '
                /^[ \t]*#[ \t]*include[ \t]*"/ {
                    split($0, part, "\"")
                    print file, FNR, part[2]
                }' "$1/$file"
        done
}

{
    layers
    includes "${top_srcdir:?}"
} | awk '
    function folder(path) {
        sub(/\/?[^\/]*$/, "", path)
        return path
    }
    function stem(path) {
        sub(/\..*/, "", path)
        return path
    }
    function complain(text) {
        print "FAIL: " text
        failed = 1
    }
    # Follow all includes of a room; path holds the rooms on the way to it.
    function follow(node, path,    words, count, i) {
        state[node] = "open"
        count = split(targets[node], words, " ")
        for (i = 1; i <= count; i++) {
            if (state[words[i]] == "open")
                complain("a circle:" path " " node " " words[i])
            else if (state[words[i]] == "")
                follow(words[i], path " " node)
        }
        state[node] = "done"
    }

    $2 == ":" {
        known[$1]
        for (i = 3; i <= NF; i++)
            allowed[$1, $i]
        next
    }
    {
        from = folder($1)
        to = folder($3)
        if (!(from in known))
            complain($1 ": its folder is on no layer")
        if (to == from)
            complain($1 ":" $2 ": a header of its own folder goes by its bare name: " $3)
        if (to == "")
            to = from
        else if (!((from, to) in allowed))
            complain($1 ":" $2 ": " from " may not include " $3)
        here = stem($1)
        target = stem(to == from ? from "/" $3 : $3)
        rooms[here]
        included++
        if (here != target && !seen[here, target]++)
            targets[here] = targets[here] " " target
    }
    END {
        for (node in rooms)
            if (state[node] == "")
                follow(node, "")
        if (included == 0)
            complain("no includes found")
        exit failed
    }'

# Tests whether the house rule about threads names each file of src/ that contains one of these calls.
rule=$(sed -n '/^- Threads belong/,/^- Code/p' "$top_srcdir/HACKING.md")
grep -lE '[^_]thread_start\(&|pthread_cond_(timed)?wait\(' -r "$top_srcdir/src" --include='*.c' | (
    failed=0 count=0
    while IFS= read -r file; do
        count=$((count + 1))
        name=${file##*/}
        case $rule in *"${name%.c}."[ch]*) continue ;; esac
        echo "FAIL: $file has threads, and HACKING.md does not name it"
        failed=1
    done
    [ "$failed" = 0 ] && [ "$count" -gt 0 ]
)
