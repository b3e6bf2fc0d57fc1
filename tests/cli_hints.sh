#!/bin/sh
# What a person reads who mistyped: suggestions, recognised files, notes. Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- misspelled options

refuses 2 'voxfilt: --filtr: no such option; did you mean --filter?' voxfilt --filtr gauss:1
refuses 2 'voxfilt: --flter: no such option; did you mean --filter?' voxfilt --flter=gauss:1
refuses 2 'imgheat: --setps: no such option; did you mean --steps?' imgheat --setps 5
refuses 2 'voxfilt: --iterations: no such option; did you mean --steps?' voxfilt --iterations 5
refuses 2 'voxfilt: --dtype: no such option; did you mean --type?' voxfilt --dtype u8
refuses 2 'voxfilt: --dims: no such option; did you mean -d?' voxfilt --dims 8,8,8
refuses 2 'voxfilt: --gpu: no such option; did you mean --device cuda?' voxfilt --gpu
refuses 2 'voxfilt: --x: no such option (--help lists them)' voxfilt --x
refuses 2 'voxfilt: --o: not clear which: --output, --out-endian, --out-type, --out-format' voxfilt --o out
refuses 2 'voxfilt: --alpha-mode: no such option (imgheat has it)' voxfilt --alpha-mode=separate
refuses 2 'voxfilt: --steps: teps: expected a whole number; did you mean --steps?' voxfilt -steps 5
refuses 2 'imgheat: --edge: lp: not one of reflect, mirror, nearest, wrap, constant[:V], hold; did you mean --help?' \
    imgheat -help
accepts 'options may be cut short' '' voxfilt --inp v8.raw -n 8 --typ u8 --filt gauss:1 --outp short.raw
v8 -f gauss:1 -o whole.raw
same 'and mean what they are short for' whole.raw short.raw
for program in voxfilt imgheat; do
    for pair in '-h --help' '-V --version'; do
        # shellcheck disable=SC2086  # two words
        set -- $pair
        "$program" "$1" > ../by-letter && "$program" "$2" > ../by-name
        same "$program $1 is $2" ../by-letter ../by-name
    done
done

# ---------------------------------------------------------------- misspelled words

# What an option is given, and what it should have been.
means() # OPTION GIVEN MEANT MESSAGE
{
    refuses 2 "voxfilt: $4; did you mean $3?" voxfilt "$1" "$2"
}

for pair in gaus:gauss gausian:gauss Gauss:gauss gaussian:gauss soble:sobel lap:laplace blur:gauss median:median; do
    given=${pair%:*} meant=${pair#*:}
    if [ "$given" = "$meant" ]; then
        refuses 2 "voxfilt: --filter: $given: no such filter (--list names them)" voxfilt -f "$given"
    else
        means -f "$given" "$meant" "--filter: $given: no such filter"
    fi
done
means -f gausian:2.5 gauss '--filter: gausian: no such filter'
rules='reflect, mirror, nearest, wrap, constant[:V], hold'
for pair in clamp:nearest replicate:nearest zero:constant periodic:wrap symmetric:reflect reflect101:mirror \
    const:constant wrp:wrap MIRROR:mirror; do
    means -e "${pair%:*}" "${pair#*:}" "--edge: ${pair%:*}: not one of $rules"
done
types='u8, i8, u16, i16, u32, i32, f32 or f64'
for pair in uint8:u8 byte:u8 uint16:u16 short:i16 int16:i16 int:i32 float:f32 float32:f32 double:f64 U16:u16; do
    means -t "${pair%:*}" "${pair#*:}" "--type: ${pair%:*}: expected $types"
done
means --out-type uint16 u16 "--out-type: uint16: expected $types"
means --work double f64 '--work: double: expected f32 or f64'
refuses 2 'voxfilt: --work: short: expected f32 or f64' voxfilt --work short
means --flux perona-malik pm2 '--flux: perona-malik: expected linear, tanh, pm1 or pm2'
means --endian LE little '--endian: LE: expected little or big'
means --progress nevr never '--progress: nevr: expected auto, always or never'
refuses 2 'imgheat: --alpha-mode: straight: expected premultiply or separate; did you mean separate?' \
    imgheat --alpha-mode straight
extents='expected X,Y or X,Y,Z, whole numbers above 0'
means -d 512x512x300 512,512,300 "-d: 512x512x300: $extents"
means -d '640 480' 640,480 "-d: 640 480: $extents"
means -d 256 '-n 256' "-d: 256: $extents"
refuses 2 "voxfilt: -d: 512x0: $extents" voxfilt -d 512x0
means -n 64x64x32 '-d 64,64,32' '-n: 64x64x32: expected a whole number above 0'
means -n 64,48 '-d 64,48' '-n: 64,48: expected a whole number above 0'
means --tile 32,8 32x8 '--tile: 32,8: expected W or WxH, whole numbers from 1 to 65536'

# ---------------------------------------------------------------- an input and an output as operands

refuses 2 'imgheat: out: operands are inputs, and there is no such file; did you mean --output out?' \
    imgheat gray.png out
cp rgb.png second.png
refuses 2 'imgheat: 2 inputs need a directory, --output DIR/; did you mean to replace second.png, by --output second.png?' \
    imgheat gray.png second.png
same 'and the second is as it was' rgb.png second.png
ln -s nowhere.png dangling.png
refuses 2 'imgheat: 2 inputs need a directory, --output DIR/; did you mean to replace dangling.png, by --output dangling.png?' \
    imgheat gray.png dangling.png
refuses 2 'imgheat: 2 inputs need a directory: --output DIR/' imgheat gray.png rgb.png -o out

conclude
