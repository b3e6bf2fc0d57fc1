#!/bin/sh
# What is printed for scripts: reports, plans and lists as JSON, each member against the list of the manual. Prints a line a
# case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

if ! has python3; then
    skip 'JSON: python3 is not here'
    conclude
    exit
fi

# All objects of a kind together have the members that the manual lists.
matches() # KIND FILE...
{
    kind=$1
    shift
    python3 "${top_srcdir:?}/tests/schema.py" "$top_srcdir/man/voxfilt.7" "$kind" "$@"
    result $? "$kind: the members are those of voxfilt(7)"
}

# A Python expression of the first object, o, or of all lines is true.
holds() # NAME FILE EXPRESSION
{
    python3 -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
o = lines[0]
sys.exit(not eval(sys.argv[2]))' "$2" "$3"
    result $? "$1"
}

make_volume -d 40,30,20 -t f32 -o vol.raw
make_picture -d 60,50 --rgba -o in.png
v()
{
    voxfilt -q -i vol.raw -d 40,30,20 -t f32 "$@"
}

# ---------------------------------------------------------------- reports

v --stats -e constant:3 --flux pm1 --scale 3 --reaction 0.1 --until 0.1 -o out --report=json:r1.json
v --out-type u8 --out-range=0,3 --tee 3:tee.raw -o out --report=json:r2.json
v -f gauss:1 --fwhm --axes xy -o out --report=json:r3.json
imgheat -q -f gauss:1 -f sobel:x -o out.png --report=json:r4.json in.png
voxfilt -q -i vol.raw -n 9 -t f32 -o out --report=json:r5.json 2> ../stderr
{ printf 'NRRD0004\ntype: float\ndimension: 3\nsizes: 40 30 20\nendian: little\nencoding: raw\nkey:=a value\n\n'
    cat vol.raw; } > keyed.nrrd
voxfilt -i keyed.nrrd -f heat --tee 3:tee.nhdr --tee 4:tee.npy -o out.nrrd --report=json:r6.json 2> ../stderr
echo 'voxfilt: tee.npy: left out: key' | cmp ../stderr -
result $? 'a note names what a tee leaves out and the output does not'
holds 'and the report says so' r6.json 'o["left_out"] == "" and [tee["left_out"] for tee in o["tees"]] == ["", "key"]'
voxfilt -q -i keyed.nrrd -f heat --tee 3:tee.npy -o out.mha --report=json:r7.json
holds 'of the output likewise' r7.json 'o["left_out"] == "key"'
v -f box:1 --mask vol.raw --missing nan -o out --report=json:r8.json
matches report r1.json r2.json r3.json r4.json r5.json r6.json r8.json
holds 'a tee has the losses of its own state' r2.json \
    '[tee["step"] for tee in o["tees"]] == [3] and o["tees"][0]["cut_off"] != o["cut_off"]'

# ---------------------------------------------------------------- plans

v --explain=json -e constant:3 --flux pm1 --scale 3 --reaction 0.1 --until 0.1 > e1.json
v --explain=json -f gauss:2 --fwhm --axes xy -f heat -s 9 --tee 3:tee2.raw -o out2 --preview p.png > e2.json
v --explain=json -e wrap -s 9 -m 100K > e3.json
imgheat --explain=json -f gauss:1 -f sobel:x in.png in.png > e4.json
v --explain=json -s 5 -m 50K -o out3 > e5.json
matches plan e1.json e2.json e3.json e4.json e5.json
for plan in e1 e2 e3 e4; do
    holds "$plan: memory adds up" $plan.json 'sum(o["memory"].values()) == o["planned_bytes"] > 0'
    holds "$plan: a reason for each kernel" $plan.json 'len(o["kernels"]) == len(o["reasons"]) > 0 and all(o["reasons"])'
done
holds '--until: at most' e1.json 'o["at_most"] and not json.load(open("e2.json"))["at_most"]'
holds 'tees' e2.json 'o["tees"] == [{"step": 3, "output": "tee2.raw"}] and o["output"] == "out2" and o["memory"]["other"] > 0'
holds 'spool files' e3.json 'o["passes"] > 1 and o["spool_files"] > 0 and o["spool_bytes"] >= 96000'
holds 'columns' e5.json \
    '[way["taken"] for way in o["ways"]] == [False, True] and o["ways"][1]["columns"] != [1, 1] and o["passes"] == 1'
holds 'why there are no columns' e3.json \
    'o["obstacle"] == "an output that is written in order" and o["ways"] == [] and json.load(open("e5.json"))["obstacle"] is None'
holds 'two inputs, a line each' e4.json 'len(lines) == 2'
[ ! -e out2 ] && [ ! -e tee2.raw ] && [ ! -e p.png ]
result $? 'a plan writes nothing'
v -s 9 --report=json:r6.json -o out
v -s 9 --explain=json -o out > e6.json
holds 'a plan says what the report does' e6.json \
    'all(o[name] == json.load(open("r6.json"))[name] for name in ("stages", "kernels", "grid", "planned_bytes", "device"))'
refuses 2 'voxfilt: --explain: xml: expected text or json' v --explain=xml
ends 'a plan for a full disk' 4 'voxfilt: standard output: it could not be written
' into /dev/full v --explain=json

# ---------------------------------------------------------------- lists

voxfilt --list=json > l.json
matches list l.json
voxfilt --list > l.txt
holds 'the list has all that is listed as text' l.json \
    'sum(len(part) for part in o.values()) == sum(line.startswith("  ") for line in open("l.txt"))'
holds 'on one line' l.json 'len(lines) == 1'
refuses 2 'voxfilt: --list: csv: expected text or json' voxfilt --list=csv

conclude
