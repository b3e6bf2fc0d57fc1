#!/bin/sh
# GPUs, which are emulated: the shared memory that kernels of one are permitted, how several are named, what is refused, and a
# file at a time on each. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

needs_emulated_gpus

unset CUDA_VISIBLE_DEVICES

# voxfilt on a machine with so many GPUs.
with() # COUNT ARGUMENT...
{
    gpus=$1
    shift
    CUDA_EMULATION_DEVICES=$gpus "$emulated" --program=voxfilt "$@"
}

# The same, the GPUs having no access to each other's memory, or every second one being of another kind.
apart()
{
    CUDA_EMULATION_LINKS=none with "$@"
}

mixed()
{
    CUDA_EMULATION_KINDS=mixed with "$@"
}

kind='compute capability 9.0, 2 multiprocessors, 0.2 GiB, CUDA 12.0'
mkdir in
for i in 1 2 3 4 5 6 7; do
    voxfilt -q -D cpu -i v8.raw -n 8 -f scale:0.$i,$i -o in/$i.raw
done

# ---------------------------------------------------------------- shared memory

# Windows of several lengths have one kernel, which is permitted as much as each of them needs.
make_volume -d 600,4,2 -o rows.raw
windows='-i rows.raw -d 600,4,2 -t f32 -f max:249,x -f max:130,x -f min:140,x'
# shellcheck disable=SC2086  # words
voxfilt -q -D cpu $windows -o cpu.raw
# shellcheck disable=SC2086
accepts 'long windows of several lengths' '' with 1 -q -D cuda $windows -o gpu.raw
same 'long windows' cpu.raw gpu.raw

# Where blocks have 64 KiB, one launch has no room for these windows: they take two or three.
make_volume -d 5,2800,1 -o tall.raw
for radius in 614 665 1340; do
    windows="-i tall.raw -d 5,2800 -t f32 -e wrap -f max:$radius,y"
    # shellcheck disable=SC2086
    voxfilt -q -D cpu $windows -o cpu.raw
    # shellcheck disable=SC2086
    CUDA_EMULATION_CAPABILITY=75 accepts "a radius of $radius" '' with 1 -q -D cuda $windows -o gpu.raw
    same "radius $radius" cpu.raw gpu.raw
done

# ---------------------------------------------------------------- names

v8()
{
    with 3 -i v8.raw -n 8 "$@"
}

refuses 5 'voxfilt: --device: cuda:3: this machine has cuda:0 to cuda:2' v8 -D cuda:3 -o out
refuses 5 'voxfilt: --device: cuda:0,5: this machine has cuda:0 to cuda:2' v8 -D cuda:0,5 -o out
refuses 5 'voxfilt: --device: cuda:0,1: this machine has only cuda:0' with 1 -i v8.raw -n 8 -D cuda:0,1 -o out
refuses 2 'voxfilt: --device: cuda:1,0,1: cuda:1 is named twice' v8 -D cuda:1,0,1 -o out
refuses 2 "voxfilt: --device: cuda:0,1: devices of different kinds: cuda:0 is Emulated GPU, $kind; cuda:1 is Other emulated GPU, $kind" \
    mixed 3 -i v8.raw -n 8 -D cuda:0,1 -o out
refuses 2 "voxfilt: --device: cuda:all: devices of different kinds: cuda:0 is Emulated GPU, $kind; cuda:1 is Other emulated GPU, $kind" \
    mixed 2 -i v8.raw -n 8 -D cuda:all -o out
accepts 'of mixed kinds those of one' '' mixed 3 -q in/1.raw in/2.raw -n 8 -D cuda:2,0 -o .
for name in cuda: 'cuda:,' 'cuda:0,' cuda:,0 cuda:0,,1 cuda:0,x cuda:ALL cuda:-1 cuda:all,0; do
    refuses 2 "voxfilt: --device: $name: no such device; did you mean cuda?" v8 -D $name -o out
done
refuses 5 'voxfilt: --device: cuda:all: this machine has none: the NVIDIA driver finds no GPU' \
    with 0 -i v8.raw -n 8 -D cuda:all -o out
CUDA_VISIBLE_DEVICES='' refuses 5 \
    'voxfilt: --device: cuda: this machine has none: CUDA_VISIBLE_DEVICES is "", which leaves no GPU' \
    with 0 -i v8.raw -n 8 -D cuda -o out

# ---------------------------------------------------------------- links

with 3 --list > list
[ "$(grep -c "^  cuda:[012]  *Emulated GPU, $kind\$" list)" = 3 ] &&
    [ "$(sed -n '/^links:/,$p' list | grep -c '^  cuda:[01] cuda:[12]  *each reads the other.s memory$')" = 3 ]
result $? '--list names the GPUs and their links'
apart 2 --list | grep -qx '  cuda:0 cuda:1  *through the host.s memory'
result $? 'GPUs that do not reach each other'
! with 1 --list | grep -q '^links:'
result $? 'one GPU has no links'
apart 2 --list=json | grep -q '"links": \[{"devices": \["cuda:0", "cuda:1"\], "peer_access": false}\]}$'
result $? 'links as JSON'

# ---------------------------------------------------------------- a file at a time on each

mkdir same
voxfilt -q -n 8 -D cpu in/*.raw -o same/
for device in cuda:0,2 cuda:all cuda:1 cuda:2,1,0; do
    rm -rf many && mkdir many
    with 3 -n 8 -q --report -D $device in/*.raw -o many/ 2> ../stderr && diff -r same many > ../stdout &&
        [ "$(grep -c '^device  *cuda:[012]: ' ../stderr)" = 7 ]
    result $? "-D $device: seven files"
done
with 3 -n 8 -q --report -D cuda:0,2 in/*.raw -o many/ 2> ../stderr
! grep -q '^device  *cuda:1' ../stderr
result $? 'on no other GPU'
with 3 -n 8 --explain -D cuda:0,2 in/1.raw in/2.raw in/3.raw -o many/ 2>&1 | grep '^device' | cut -c 1-16 > ../stdout
printf 'device    cuda:%d\n' 0 2 0 | diff - ../stdout
result $? '--explain gives each file a GPU'
rm -rf many && mkdir many
refuses 5 'voxfilt: --device: cuda:1,9: this machine has cuda:0 to cuda:2' with 3 -n 8 -D cuda:1,9 in/1.raw in/2.raw -o many/
[ -z "$(ls many)" ]
result $? 'which no file is begun for'

conclude
