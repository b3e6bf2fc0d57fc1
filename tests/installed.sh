#!/bin/sh
# What make install puts where, what the commands are by other names, and what shells complete. Prints a line a case and
# fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"
build=${top_builddir:?}

# ---------------------------------------------------------------- one program, two names

program=$build/voxfilt
ln -s "$program" imgheat-0.1
ln -s "$program" gvoxfilt
ln -s "$program" other
[ "$(./imgheat-0.1 --version)" = "$(imgheat --version)" ]
result $? 'a name with imgheat in it is imgheat'
[ "$(./gvoxfilt --version)" = "$(voxfilt --version)" ]
result $? 'a name with voxfilt in it is voxfilt'
unclear='voxfilt: other: this name selects neither voxfilt nor imgheat (give --program=voxfilt or --program=imgheat as the first argument)'
refuses 2 "$unclear" ./other --version
refuses 2 "$unclear" ./other --program
for name in voxfilt imgheat; do
    for way in "./other --program=$name" "./other --program $name" "voxfilt --program=$name" "imgheat --program=$name"; do
        # shellcheck disable=SC2086  # words
        [ "$($way --version)" = "$($name --version)" ]
        result $? "$way is $name"
    done
done
refuses 2 'voxfilt: --program: cat: expected voxfilt or imgheat' ./other --program=cat
refuses 2 'voxfilt: --program: cat: expected voxfilt or imgheat' voxfilt -q --program=cat
refuses 2 'voxfilt: --program: imgheat: it must be the first argument' voxfilt -q --program=imgheat gray.png -o out
imgheat gray.png -o one.png
accepts 'a picture' '' ./other --program=imgheat gray.png -o two.png
same 'is the same by any name' one.png two.png

# ---------------------------------------------------------------- completions

# The candidates for a line, each on a line of its own.
candidates() # LINE
{
    BASH_ENV='' bash --norc -c '
        . "$1" && . "$2" || exit
        COMP_LINE=$3 COMP_POINT=${#3} COMPREPLY=()
        "_${3%% *}" && printf "%s\n" "${COMPREPLY[@]}"' bash \
        "$build/completions/voxfilt.bash" "$build/completions/imgheat.bash" "$1"
}

completes() # LINE CANDIDATES
{
    [ "$(candidates "$1" | LC_ALL=C sort | xargs)" = "$2" ] || { candidates "$1"; result 1 "bash completes: $1"; return; }
    result 0 "bash completes: $1"
}

for name in voxfilt imgheat; do
    for shell in bash zsh; do
        "$name" --completions=$shell | cmp - "$build/completions/$name.$shell"
        result $? "$name --completions=$shell prints what is installed"
    done
done
refuses 2 'voxfilt: --completions: fish: expected bash or zsh' voxfilt --completions=fish
refuses 2 'imgheat: --completions: option requires an argument' imgheat --completions

if has bash && bash -c '[ "${BASH_VERSINFO[0]}" -ge 4 ]'; then
    for name in voxfilt imgheat; do
        candidates "$name -" | sed 's/=$//' | sort > ../offered
        "$name" --help | sed -n 's/^  -., \(--[a-z-]*\).*/\1/p; s/^      \(--[a-z-]*\).*/\1/p; s/^  \(-.\) [^-].*/\1/p' | sort > ../known
        [ -s ../known ] && diff ../known ../offered
        result $? "bash completes every option of $name"
    done
    voxfilt --list | sed -n '/^filters:/,/^rungs:/s/^  \([a-z]*\).*/\1/p' | sort > ../known
    candidates 'voxfilt -f ' | sed 's/:.*//' | sort -u > ../offered
    [ -s ../known ] && diff ../known ../offered
    result $? 'bash completes every filter'
    completes 'voxfilt -t ' "$(echo "$types" | tr -s ', ' '\n' | grep -vx or | LC_ALL=C sort | xargs)"
    completes 'voxfilt --flux ' 'linear pm1 pm2 tanh'
    completes 'voxfilt --flux=p' 'pm1 pm2'
    completes 'voxfilt -q --flux p' 'pm1 pm2'
    completes 'voxfilt -f sob' 'sobel:x sobel:y sobel:z'
    completes 'voxfilt -f sobel:' 'x y z'
    completes 'voxfilt --filter=ga' 'gauss:'
    completes 'voxfilt -i v8' 'v8.raw'
    completes 'voxfilt --output=v8' 'v8.raw'
    completes 'voxfilt -f taps:v8' 'v8.raw'
    completes 'voxfilt v8' 'v8.raw'
    completes 'imgheat rg' 'rgb.png rgba.png'
    completes 'imgheat -s ' ''
    completes 'imgheat --report=' 'json text'
    completes 'imgheat --report rgb' 'rgb.png rgba.png'
    completes 'imgheat --report=json:rgb' 'rgb.png rgba.png'
    completes 'imgheat --bench=json:rgb' ''

    # A word that is offered is one that the program takes.
    for name in voxfilt imgheat; do
        candidates "$name --" | grep '=$' | grep -v -e --filter -e --device > ../valued
        while IFS= read -r option; do
            case $option in
            --input= | --output= | --program=) continue ;;
            esac
            candidates "$name $option" > ../offered
            while IFS= read -r word; do
                [ -z "$word" ] || "$name" "$option$word" --help > ../stdout 2> ../stderr ||
                    { cat ../stderr; result 1 "$name takes $option$word"; }
            done < ../offered
        done < ../valued
        [ -s ../valued ]
        result $? "words that are offered for $name are words that it takes"
    done
else
    skip 'completions: bash 4 is not here'
fi
if has zsh; then
    for name in voxfilt imgheat; do
        zsh -n "$build/completions/$name.zsh"
        result $? "completions of $name for zsh are zsh"
    done
else
    skip 'completions for zsh: it is not here'
fi

# ---------------------------------------------------------------- make install, make uninstall

unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR
installed=$work/installed

quietly()
{
    "$@" > ../made 2>&1 || { cat ../made; return 1; }
}

files()
{
    (cd "$installed" && find . ! -type d | sort)
}

cat > ../wanted <<END
./bin/imgheat
./bin/voxfilt
./share/bash-completion/completions/imgheat
./share/bash-completion/completions/voxfilt
./share/doc/voxfilt/COPYING
./share/doc/voxfilt/NEWS
./share/doc/voxfilt/README.md
./share/doc/voxfilt/samples/bigger-than-memory.sh
./share/doc/voxfilt/samples/denoise-ct.sh
./share/doc/voxfilt/samples/denoised.png
./share/doc/voxfilt/samples/edges-2.png
./share/doc/voxfilt/samples/edges.sh
./share/doc/voxfilt/samples/frame-15.png
./share/doc/voxfilt/samples/gallery.sh
./share/doc/voxfilt/samples/heat-movie.sh
./share/doc/voxfilt/samples/phantom.svg
./share/doc/voxfilt/samples/picture.png
./share/doc/voxfilt/samples/pictures.sh
./share/doc/voxfilt/samples/slurm-join.sh
./share/doc/voxfilt/samples/slurm-ranks.sbatch
./share/doc/voxfilt/samples/slurm.sbatch
./share/man/man1/imgheat.1
./share/man/man1/voxfilt.1
./share/man/man7/voxfilt.7
./share/zsh/site-functions/_imgheat
./share/zsh/site-functions/_voxfilt
END
[ -z "${VOXFILT_MPI:-}" ] || printf './bin/voxfilt-mpi\n./share/man/man1/voxfilt-mpi.1\n' >> ../wanted
sort -o ../wanted ../wanted
places="prefix=/ DESTDIR=$installed"
# shellcheck disable=SC2086  # words
quietly make -C "$build" install $places && files | sed 's,//*,/,g' | diff ../wanted -
result $? 'make install'
[ -L "$installed/bin/imgheat" ] && [ "$("$installed/bin/imgheat" --version)" = "$(imgheat --version)" ]
result $? 'imgheat is a link, and imgheat'
[ "$("$installed/bin/voxfilt" --version)" = "$(voxfilt --version)" ]
result $? 'voxfilt is voxfilt'
if [ -n "${VOXFILT_MPI:-}" ]; then
    cmp "$installed/share/man/man1/voxfilt-mpi.1" "$installed/share/man/man1/voxfilt.1"
    result $? 'the page of voxfilt-mpi is that of voxfilt'
fi
# shellcheck disable=SC2086
quietly make -C "$build" uninstall $places && [ -z "$(files)" ]
result $? 'make uninstall leaves nothing'
named="program_transform_name=s/^/g-/"
# shellcheck disable=SC2086
quietly make -C "$build" install $places "$named" && [ "$("$installed/bin/g-imgheat" --version)" = "$(imgheat --version)" ] &&
    [ -s "$installed/share/zsh/site-functions/_g-voxfilt" ] &&
    { [ -z "${VOXFILT_MPI:-}" ] || [ -s "$installed/share/man/man1/g-voxfilt-mpi.1" ]; }
result $? 'make install under other names'
# shellcheck disable=SC2086
quietly make -C "$build" uninstall $places "$named" && [ -z "$(files)" ]
result $? 'make uninstall of those'

conclude
