#!/bin/sh
# Runs that stop by themselves, and the reports of runs. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- --until in vain

ends '--until: not reached' 7 "voxfilt: short.raw: --until 0.001 was not reached: the RMS change of step 3 is 3.36434
" v16 --until 0.001 -s 3 --check-every 1 -o short.raw
v16 -s 3 -o three.raw
same '--until: not reached, the output is complete' short.raw three.raw
ends '--until: not reached, quietly' 7 '' v16 -q --until 0.001 -s 3 --check-every 1 -o quiet.raw
same '--until: not reached, quietly, the output is complete' quiet.raw three.raw
voxfilt -q -n 16 -t f32 --until 0.001 -s 3 --check-every 1 < v16.raw > piped.raw
[ $? = 7 ]
result $? '--until: not reached in a pipe'
same '--until: not reached in a pipe, the output is complete' piped.raw three.raw
ends '--until: not reached without a step' 7 "voxfilt: none.raw: --until 9 was not reached: no steps were requested
" v16 --until 9 -s 0 -o none.raw
same '--until: not reached without a step, the output is complete' none.raw v16.raw
printf '\000\000\300\177' > nan.raw
ends '--until: a change that is no number' 7 \
    "voxfilt: nan.out: --until 1 was not reached: the RMS change of step 2 is not a number
" voxfilt -i nan.raw -d 1,1 -t f32 --until 1 -s 2 --check-every 1 -o nan.out
accepts '--until: reached at the last step' '' v16 --until 100 -s 1 -o once.raw
accepts '--until: nothing changes' '' v8 -f identity --until 1 -o same.raw
accepts '--until: --explain takes no steps' '' v16 --until 0.001 -s 3 --check-every 1 --explain
ends '--until: not reached over spools' 7 \
    "voxfilt: spooled.raw: --until 0.001 was not reached: the RMS change of step 3 is 3.36434
" v16 --until 0.001 -s 3 --check-every 1 -m 30K -o spooled.raw
v16 --until 0.001 -s 3 --check-every 1 -m 30K --explain | grep -q 'two spool files'
result $? '--until: those are spools'
same '--until: not reached over spools, the output is complete' spooled.raw three.raw
ends '--until: not reached, and the output full' 4 'voxfilt: standard output: No space left on device
' into /dev/full v16 -q --until 0.001 -s 3 --check-every 1

# Of several files one that failed decides, wherever it stands.
mkdir many
printf 'no picture' > broken.png
unreached="imgheat: many/gray.png: --until 0.001 was not reached: the RMS change of step 2 is"
imgheat -j 2 --until 0.001 -s 2 --check-every 1 gray.png rgb.png -o many 2> ../stderr
[ $? = 7 ] && [ "$(grep -c "was not reached" ../stderr)" = 2 ] && grep -q "^$unreached" ../stderr
result $? '--until: not reached for several files'
imgheat -q -j 2 --until 0.001 -s 2 --check-every 1 gray.png broken.png -o many 2> ../stderr
[ $? = 3 ]
result $? '--until: not reached, and then a file that fails'
imgheat -q -j 2 --until 0.001 -s 2 --check-every 1 broken.png gray.png -o many 2> ../stderr
[ $? = 3 ]
result $? '--until: a file that fails, and then not reached'

# ---------------------------------------------------------------- --check-every

refuses 2 'voxfilt: --check-every: 0: expected a whole number above 0' v16 --until 1 --check-every 0 -o out
refuses 2 'voxfilt: --check-every: heat: it needs --until' v16 --check-every 3 -o out
refuses 2 'imgheat: --check-every: heat: it needs --until' imgheat -f heat --check-every 3 gray.png

looks_of() # COMMAND...: the line of the report
{
    "$@" -q --report -o looked.raw 2>&1 | sed -n 's/^checks    //p'
}

steps_of() # COMMAND...: its first word but one
{
    "$@" -q --report -o looked.raw 2>&1 | sed -n 's/^steps     \([0-9]*\).*/\1/p'
}

# The first step that is looked at and changes little enough, by steps that are all looked at.
v16 -q --until 1e-9 --check-every 1 -s 60 --report=json -o each.raw 2> ../stderr
tr '{' '\n' < ../stderr | sed -n 's/^"step": \([0-9]*\), "change": \([^}]*\)}.*/\1 \2/p' > ../each
[ "$(wc -l < ../each)" = 60 ]
result $? '--check-every: all looks are in the report'
for every in 1 2 7 12 13; do
    wanted=$(awk -v every=$every '$1 % every == 0 && $2 < 0.35 { print $1; exit }' ../each)
    [ "$(steps_of v16 --until 0.35 --check-every $every)" = "${wanted:-none}" ]
    result $? "--check-every: $every stops after ${wanted:-no} steps"
    v16 -s "${wanted:-0}" -o steps.raw
    same "--check-every: $every gives what so many steps give" looked.raw steps.raw
done
for how in '-j 1' '-j 3' '-m 30K' '--rung naive' '--rung blocked' '--rung fused' '--rung fused --tile 16x8'; do
    # shellcheck disable=SC2086  # options
    [ "$(steps_of v16 --until 0.35 --check-every 7 $how)" = 35 ]
    result $? "--check-every: as many steps with $how"
    v16 -s 35 -o steps.raw
    same "--check-every: the same with $how" looked.raw steps.raw
done
case $(looks_of v16 --until 1e-9 --check-every 4 -s 22 -q) in
'6, RMS change '*' at step 12, '*' at step 16, '*' at step 20, '*' at step 22') true ;;
*) false ;;
esac
result $? '--report: the latest looks, and how many there were'

# By default, which follows from the job alone.
for how in '-j 1' '-j 2' '-m 30K' '--rung naive'; do
    # shellcheck disable=SC2086
    v16 -q --until 1e-30 -s 200 --explain $how | grep -q '; checked: one step in 100, and the last$'
    result $? "--until: looks as often with $how"
done
ends '--until: looks too seldom' 7 "voxfilt: v16.raw: --until: only the last of 20 steps is checked; --check-every checks sooner
voxfilt: late.raw: --until 0.001 was not reached: the RMS change of step 20 is 0.52186
" v16 --until 0.001 -s 20 -o late.raw
v16 --until 0.35 --explain | grep -q '^forecast  at most '
result $? '--explain: what --until may save is not counted'

# A tenth is what looking may cost; twice that is what a busy machine may add.
make_volume -n 128 -t f32 -o v128.raw
seconds_of()
{
    voxfilt -q -D cpu -i v128.raw -n 128 -t f32 -s 216 --report=json -o /dev/null "$@" 2>&1 |
        sed 's/.*"compute": \([0-9.]*\).*/\1/'
}
if is_whole_run; then
    # The least of five in turn, since machines change their speed.
    for _ in 1 2 3 4 5; do
        seconds_of --until 1e-30 >> with.seconds
        seconds_of >> without.seconds
    done
    with=$(sort -n with.seconds | head -n 1) without=$(sort -n without.seconds | head -n 1)
    awk -v with="$with" -v without="$without" 'BEGIN { exit !(with < 1.3 * without) }'
    result $? "--until: looking costs little: $with s of computing, and $without s without"
else
    skip '--until: looking costs little: this run is thinned'
fi

# ---------------------------------------------------------------- reports in files

formats='text[:FILE] or json[:FILE]'
for value in 'json:' 'text:' ':r.json' 'json,r' 'r.json'; do
    refuses 2 "voxfilt: --report: $value: expected $formats" v8 "--report=$value" -o out
done
refuses 2 "voxfilt: --report: jsonr: expected $formats; did you mean json?" v8 --report=jsonr -o out

# Notes stay on standard error, and only they.
printf 'old' > r.json
unreached='voxfilt: out.raw: --until 0.001 was not reached: the RMS change of step 3 is 3.36434
'
ends '--report=json:FILE: notes stay apart' 7 "$unreached" \
    v16 --until 0.001 -s 3 --check-every 1 -o out.raw --report=json:r.json
[ "$(wc -l < r.json)" = 1 ] && [ -z "$(ls -- *.part 2> ../parts)" ]
result $? '--report=json:FILE is a line'
ends '--report=text:FILE: notes stay apart' 7 "$unreached" \
    v16 --until 0.001 -s 3 --check-every 1 -o out.raw --report=text:r.txt
grep -q '^v16.raw -> out.raw: 16 x 16 x 16, ' r.txt && grep -q '^checks    3, RMS change ' r.txt
result $? '--report=text:FILE is the report'
v16 -s 3 --report=json:- -o out.raw 2> ../stderr
grep -q '^{"input": "v16.raw", .*}$' ../stderr && [ ! -e - ]
result $? '--report=json:- goes to standard error'
rm -f r.json
accepts '--report: the last one counts' '' v16 -q -s 0 --report=json:r.json --report=text:r.txt -o out.raw
[ ! -e r.json ]
result $? '--report: what a later one replaces is not written'
v8 --report=text:r.txt --stats -o out.raw > ../stdout 2> ../stderr
grep -q '^input  channel 0  min 0 ' ../stderr && ! grep -q '^input ' r.txt
result $? '--stats stay on standard error beside --report=text:FILE'
rm -f r.json
accepts '--explain writes no report' '' v8 --explain --report=json:r.json
[ ! -e r.json ]
result $? '--explain leaves the file of --report alone'
v8 --report=json:/dev/stdout -o out.raw > ../stdout 2> ../stderr
grep -q '^{.*}$' ../stdout && [ ! -s ../stderr ]
result $? '--report: standard output is free where the output is a file'
ln -s r.json link.json
accepts '--report through a link' '' v8 --report=json:link.json -o out.raw
[ -h link.json ] && [ -f r.json ]
result $? '--report: a link stays, and its file is written'
accepts '--report and output both thrown away' '' v8 --report=json:/dev/null -o /dev/null

# What cannot be written is refused before anything runs; what failed later leaves nothing half done.
refuses 4 'voxfilt: --report: none/r.json: No such file or directory' v8 -o out --report=json:none/r.json
refuses 4 'voxfilt: --report: many: Is a directory' v8 -o out --report=json:many
if [ -w /dev/full ]; then
    ends '--report: a full disk' 4 'voxfilt: --report: /dev/full: No space left on device
' v8 -s 1 -o complete.raw --report=json:/dev/full
    v8 -s 1 -o step.raw
    same '--report: a full disk leaves the output complete' complete.raw step.raw
else
    skip '--report: a full disk: /dev/full is not here'
fi

# Not in the place of a file that the run reads or writes, by whatever name.
cp v8.raw kept.raw
ln v8.raw hard.raw
ln -s v8.raw soft.raw
ln -s coming.raw hanging.raw
printf '0 0 0 1\n' > one.taps
replaced='an input would be replaced'
written='an output goes there'
for name in v8.raw ./v8.raw hard.raw soft.raw; do
    refuses 2 "voxfilt: --report: $name: $replaced" v8 -o out "--report=json:$name"
done
refuses 2 "voxfilt: --report: v8.raw: $replaced" from v8.raw voxfilt -n 8 -t u8 -o out --report=json:v8.raw
refuses 2 "voxfilt: --report: v8.raw: $written" v8 -o v8.raw --report=json:v8.raw
refuses 2 "voxfilt: --report: ./out: $written" v8 -o out --report=text:./out
refuses 2 "voxfilt: --report: coming.raw: $written" v8 -o hanging.raw --report=text:coming.raw
refuses 2 'voxfilt: one.taps: a taps file would be replaced' v8 -f taps:one.taps -o one.taps
refuses 2 'voxfilt: ./one.taps: a taps file would be replaced' v8 -f taps:one.taps -o ./one.taps
refuses 2 'voxfilt: --report: one.taps: a taps file would be replaced' v8 -f taps:one.taps -o out --report=text:one.taps
refuses 2 "imgheat: --report: many/rgb.png: $written" imgheat gray.png rgb.png -o many --report=json:many/rgb.png
refuses 2 "imgheat: --report: rgb.png: $replaced" imgheat gray.png rgb.png -o many --report=json:rgb.png
v8 --report=json:/dev/stdout > v8.out 2> ../stderr
[ $? = 2 ] && [ ! -s v8.out ] && grep -q "^voxfilt: --report: /dev/stdout: $written\$" ../stderr
result $? '--report: not among the samples'
same '--report: no input was touched' v8.raw kept.raw

if has python3; then
    cat > ../facts_of_reports << 'END'
"""Lines of JSON in a file, strictly; the expressions that follow must be true of them (r: the first, all: all)."""
import json, sys

def once(pairs):
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), names
    return dict(pairs)

def no_number(text):
    raise ValueError(text)

HEAD = ["input", "output", "status", "error", "program", "version", "command"]
RUN = HEAD + [
    "axes", "grid", "channels", "volumes", "spacing", "region", "box", "read_bytes", "type", "out_type", "work", "stages", "ranks", "device",
    "device_text", "device_reason", "kernels", "planned_bytes", "steps", "out_range", "nan_written_as_zero", "cut_off",
    "nan_or_infinite", "left_out", "tees", "last_change", "check_count", "checks", "seconds", "busy",
    "samples_steps_per_second", "bytes_per_second"]
STAGE = ["filter", "spec", "given", "steps", "flip", "edge"]
HEAT = STAGE + ["alpha", "dt", "inner", "flux"]
SPANS = ["total", "start", "read", "stats", "upload", "compute", "download", "write"]
with open(sys.argv[1], "rb") as file:
    text = file.read().decode("utf-8", "strict")
all = [json.loads(line, object_pairs_hook=once, parse_constant=no_number) for line in text.splitlines()]
r = all[0]
for line in all:
    assert list(line) == HEAD if line["error"] is not None else set(RUN) <= set(line), line
for fact in sys.argv[2:]:
    if not eval(fact):
        sys.exit("not so: %s\n%s" % (fact, text))
END
    facts() # NAME FILE FACT...
    {
        fact_name=$1
        shift
        python3 ../facts_of_reports "$@"
        result $? "$fact_name"
    }

    v16 -q --until 0.001 -s 3 --check-every 1 -o out.raw --report=json:r.json
    facts '--report=json: a volume, and --until in vain' r.json 'len(all) == 1 and set(r) == set(RUN)' \
        'r["status"] == 7 and r["error"] is None and r["program"] == "voxfilt"' \
        'r["command"][1:5] == ["-i", "v16.raw", "-n", "16"] and r["command"][-1] == "--report=json:r.json"' \
        'r["command"][5:-1] == "-t f32 -q --until 0.001 -s 3 --check-every 1 -o out.raw".split()' \
        'r["input"] == "v16.raw" and r["output"] == "out.raw" and r["device"] == "cpu"' \
        'r["axes"] == 3 and r["grid"] == [16, 16, 16] and r["channels"] == 1 and r["spacing"] == [1, 1, 1]' \
        'r["type"] == r["out_type"] == r["work"] == "f32" and r["cut_off"] is None' \
        'r["steps"] == r["check_count"] == 3 and [check["step"] for check in r["checks"]] == [1, 2, 3]' \
        'r["last_change"] == r["checks"][2]["change"] and abs(r["last_change"] - 3.36434) < 1e-5' \
        'len(r["stages"]) == 1 and list(r["stages"][0]) == HEAT + ["until", "check_every"]' \
        'r["stages"][0]["until"] == 0.001 and r["stages"][0]["check_every"] == 1 and r["stages"][0]["steps"] == 3' \
        'list(r["seconds"]) == SPANS and list(r["busy"]) == SPANS[1:] and r["seconds"]["total"] > 0' \
        "r['version'] == '$(voxfilt --version | sed 's/.* //')'"
    v16 -q --spacing 1,2,3 --out-type u8 --stats --report=json:r.json -o out.raw \
        -f heat --flux pm2 --scale 3 --dt 0.02 --inner 2 --reaction 0.5 --alpha 2 -e constant:7 -s 4 \
        -f gauss:1 --flip -e wrap
    facts '--report=json: the stages with their parameters' r.json 'r["status"] == 0 and len(r["stages"]) == 2' \
        'set(r) == set(RUN + ["stats_in", "stats_out"])' 'r["spacing"] == [1, 2, 3] and r["out_type"] == "u8"' \
        'r["stages"][0] == dict(filter="heat", spec="heat", given=True, steps=4, flip=False, edge="constant",
            outside=7, alpha=2, dt=0.02, inner=2, flux="pm2", flux_channels="separate", scale=3, reaction=0.5)' \
        'r["stages"][1] == dict(filter="gauss", spec="gauss:1", given=True, steps=1, flip=True, edge="wrap")' \
        'r["steps"] == 5 and set(r["cut_off"]) == {"least", "below", "greatest", "above"}' \
        '{kernel["stage"] for kernel in r["kernels"]} == {1, 2} and r["stats_out"][0]["count"] == 4096'
    imgheat -q rgba.png -f gauss:1 -f sobel:x -o out.png --report=json:r.json
    facts '--report=json: a picture' r.json 'set(r) == set(RUN) and r["status"] == 0 and r["program"] == "imgheat"' \
        'r["command"][1:] == "-q rgba.png -f gauss:1 -f sobel:x -o out.png --report=json:r.json".split()' \
        'r["axes"] == 2 and r["grid"] == [40, 30, 1] and r["channels"] == 4' \
        '[stage["filter"] for stage in r["stages"] if stage["given"]] == ["gauss", "sobel"]' \
        '{" ".join(kernel) for kernel in r["kernels"]} == {
            "stage op joint rung tile coarsen stride steps block grid registers shared_bytes occupancy"}' \
        '{kernel["stage"] for kernel in r["kernels"]} == set(range(1, len(r["stages"]) + 1))' \
        'r["input"] == "rgba.png" and r["output"] == "out.png"'
    imgheat -q -o - --report=json:r.json - < gray.png > out.png
    facts '--report=json: in a pipe' r.json 'r["input"] == "standard input" and r["output"] == "standard output"'
    imgheat -j 2 gray.png broken.png rgb.png none.png -o many --report=json:r.json 2> ../stderr
    [ $? = 3 ]
    result $? '--report=json: several pictures, two of them bad'
    facts '--report=json: several pictures in their order' r.json \
        '[line["input"] for line in all] == ["gray.png", "broken.png", "rgb.png", "none.png"]' \
        '[line["output"] for line in all] == ["many/" + line["input"] for line in all]' \
        '[line["status"] for line in all] == [0, 3, 0, 4]' 'set(all[0]) == set(all[2]) == set(RUN)' \
        'all[3]["error"] == "none.png: No such file or directory"'
    facts '--report=json: errors are those of the messages' r.json \
        '["imgheat: " + all[i]["error"] for i in (1, 3)] == open("../stderr").read().splitlines()'
    imgheat -q -j 2 gray.png broken.png -o many --report=text:r.txt 2> ../stderr
    sed -n 's/, work.*//p; s/: failed with/&/p' r.txt > ../found
    {
        echo 'gray.png -> many/gray.png: 40 x 30, 1 channel, u8 -> u8'
        sed 's/^imgheat: /broken.png -> many\/broken.png: failed with status 3: /' ../stderr
    } | diff - ../found
    result $? '--report=text: several pictures in their order'

    # A single run that fails, before its input is opened or later.
    fails() # NAME STATUS COMMAND...
    {
        fails_name=$1 fails_status=$2
        shift 2
        rm -f r.json
        "$@" --report=json:r.json > ../stdout 2> ../stderr < /dev/null
        [ $? = "$fails_status" ]
        result $? "$fails_name: the status is $fails_status"
        facts "$fails_name is in the report" r.json "len(all) == 1 and r['status'] == $fails_status" \
            'r["program"] + ": " + r["error"] + "\n" == open("../stderr").read()'
    }
    fails '--report=json: a refused input' 3 voxfilt -i v8.raw -n 9 -t u8 -o out
    fails '--report=json: an input that is not there' 4 voxfilt -i absent.raw -n 8 -t u8 -o out
    fails '--report=json: an output without its folder' 4 voxfilt -i v8.raw -n 8 -t u8 -o none/out
    fails '--report=json: a directory that is not there' 4 voxfilt -i v8.raw -n 8 -t u8 -o none/
    fails '--report=json: a step that is refused' 2 voxfilt -i v8.raw -n 8 -t u8 --dt 9 -o out
    fails '--report=json: too little memory' 6 voxfilt -i v8.raw -n 8 -t u8 -m 1 -o out
    rm -f r.json
    imgheat gray.png rgb.png --report=json:r.json 2> ../stderr
    facts '--report=json: all are refused' r.json '[line["status"] for line in all] == [2, 2]' \
        'all[0]["error"] == all[1]["error"] and all[0]["error"].startswith("2 inputs need a directory, ")'

    # Names may hold any bytes: no form that is too long, no surrogate, nothing past the end of Unicode.
    odd=$(printf 'a"b\\c\001\177 \303\266\342\202\254\360\235\204\236\364\217\277\277 \355\237\277')
    odd=$odd$(printf ' \300\257 \340\200\257 \355\240\200 \360\200\200\257 \364\220\200\200 \377 \200')
    mkdir odd
    cp gray.png "odd/$odd"
    imgheat -q "odd/$odd" -o out.png --report=json:r.json
    facts '--report=json: any name is UTF-8' r.json 'r["input"] == r["command"][2]' \
        'r["input"] == "odd/" + __import__("os").listdir(b"odd")[0].decode("utf-8", "replace")'
else
    skip '--report=json: what is in it: python3 is not here'
fi

conclude
