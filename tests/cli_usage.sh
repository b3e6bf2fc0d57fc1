#!/bin/sh
# What a command line may say: options, filters, heat; every message word for word, with its status.
# Prints a line a case and fails if one does.
set -u

# shellcheck source=tests/commandbook.sh
. "$(dirname "$0")/commandbook.sh"

# ---------------------------------------------------------------- usage, both commands

refuses 4 'voxfilt: foo: No such file or directory' voxfilt foo
refuses 2 'voxfilt: foo: --input already gives the input' voxfilt -i v8.raw foo
refuses 2 'voxfilt: --bogus: no such option (--help lists them)' voxfilt --bogus
refuses 2 'voxfilt: --out: ambiguous option; possibilities: --output, --out-endian, --out-type, --out-range, --out-format' voxfilt --out x
refuses 2 'voxfilt: -Z: no such option (--help lists them)' voxfilt -qZ
refuses 2 'voxfilt: --linear: no such option (imgheat has it)' voxfilt --linear
refuses 2 'imgheat: -n: no such option (voxfilt has it)' imgheat -n 3
refuses 2 'voxfilt: -f: option requires an argument' voxfilt -f
refuses 2 'voxfilt: --channels: option requires an argument' voxfilt --channels
refuses 2 'voxfilt: --help=x: option takes no argument' voxfilt --help=x
refuses 2 'voxfilt: -n: 0: expected a whole number above 0' voxfilt -n 0
refuses 2 'voxfilt: -n: 8x: expected a whole number above 0' voxfilt -n 8x
refuses 2 'voxfilt: -d: 1,2: -n already gives the extents' voxfilt -n 8 -d 1,2
refuses 2 'voxfilt: -n: 8: -d already gives the extents' voxfilt -d 1,2 -n 8
refuses 2 'imgheat: -d: 5: expected X,Y, whole numbers above 0' imgheat -d 5
refuses 2 'voxfilt: -d: 0,1: expected X[,Y[,Z]], whole numbers above 0' voxfilt -d 0,1
refuses 2 'voxfilt: -d: 1,2,3,4: expected X[,Y[,Z]], whole numbers above 0' voxfilt -d 1,2,3,4
refuses 2 'voxfilt: --channels: 0: expected a whole number from 1 to 65536' voxfilt --channels 0
refuses 2 'voxfilt: --channels: 65537: expected a whole number from 1 to 65536' voxfilt --channels 65537
refuses 2 "voxfilt: --type: u9: expected $types" voxfilt -t u9
refuses 2 "voxfilt: --out-type: u9: expected $types" voxfilt --out-type u9
refuses 2 'voxfilt: --endian: middle: expected little or big' voxfilt --endian middle
refuses 2 'voxfilt: --out-endian: middle: expected little or big' voxfilt --out-endian middle
refuses 2 'voxfilt: --skip: -1: expected a count of bytes' voxfilt --skip -1
refuses 2 'voxfilt: --spacing: 1,: expected X[,Y[,Z]]' voxfilt --spacing 1,
refuses 2 'voxfilt: --spacing: 1 distance for 3 axes' voxfilt -n 8 --spacing 1
refuses 2 'voxfilt: --spacing: 0,1,1: expected distances from 1e-100 to 1e100' voxfilt --spacing 0,1,1
refuses 2 'voxfilt: --spacing: 1e-170,1,1: expected distances from 1e-100 to 1e100' voxfilt -n 8 --spacing 1e-170,1,1
refuses 2 'voxfilt: --spacing: 2 distances for 3 axes' voxfilt --spacing 1,1 -n 8
refuses 2 "voxfilt: --format: png: expected $formats" voxfilt --format png
refuses 2 "voxfilt: --out-format: png: expected $formats" voxfilt --out-format png
refuses 2 'voxfilt: --steps: -1: expected a whole number' voxfilt -s -1
refuses 2 "voxfilt: --edge: foo: expected $rules" voxfilt -e foo
refuses 2 'voxfilt: --edge: constant:x: the constant is not a finite number' voxfilt -e constant:x
refuses 2 'voxfilt: --edge: constant:inf: the constant is not a finite number' voxfilt -e constant:inf
refuses 2 'voxfilt: --alpha: x: expected a number' voxfilt --alpha x
refuses 2 'voxfilt: --alpha: -1: expected 0 or more' voxfilt --alpha -1
refuses 2 'voxfilt: --dt: nan: expected a number' voxfilt --dt nan
refuses 2 'voxfilt: --sigma: x: expected a number, 0 or more, with or without u' voxfilt --sigma x
refuses 2 'voxfilt: --sigma: u: expected a number, 0 or more, with or without u' voxfilt --sigma u
refuses 2 'voxfilt: --flux: x: expected linear, tanh, pm1 or pm2' voxfilt --flux x
refuses 2 'voxfilt: --scale: 0: expected a number above 0' voxfilt --scale 0
refuses 2 'voxfilt: --inner: 0: expected a whole number above 0' voxfilt --inner 0
refuses 2 'voxfilt: --reaction: a: expected a number' voxfilt --reaction a
refuses 2 'voxfilt: --until: 0: expected a number above 0' voxfilt --until 0
refuses 2 'voxfilt: --until: heat: only the last stage can wait for it' voxfilt -f heat --until 1 -f gauss:1
refuses 2 'voxfilt: --alpha: no stage of this chain is heat' voxfilt --alpha 1 -f gauss:1
refuses 2 'imgheat: --alpha-mode: x: expected premultiply or separate' imgheat --alpha-mode x
refuses 2 'imgheat: --level: 10: expected 0 to 9' imgheat --level 10
refuses 2 'voxfilt: --work: f16: expected f32 or f64' voxfilt --work f16
refuses 2 'voxfilt: --threads: 0: expected a whole number from 1 to 4096' voxfilt -j 0
refuses 2 'voxfilt: --threads: 4097: expected a whole number from 1 to 4096' voxfilt -j 4097
refuses 2 'voxfilt: --memory: 0: expected a count of bytes above 0, with K, M, G or T' voxfilt -m 0
refuses 2 'voxfilt: --memory: 99999999T: expected a count of bytes above 0, with K, M, G or T' voxfilt -m 99999999T
refuses 2 'voxfilt: --report: xml: expected text[:FILE] or json[:FILE]' voxfilt --report=xml
refuses 2 'voxfilt: --progress: x: expected auto, always or never' voxfilt --progress x

# ---------------------------------------------------------------- filters

refuses 2 'voxfilt: --filter: nope: no such filter (--list names them)' voxfilt -f nope
refuses 2 'voxfilt: --filter: gauss: expected gauss:S[u],...[,order=X,Y,Z]' voxfilt -f gauss
refuses 2 'voxfilt: --filter: gauss:a: expected gauss:S[u],...[,order=X,Y,Z]' voxfilt -f gauss:a
refuses 2 'voxfilt: --filter: gauss:1,2,3,4: expected gauss:S[u],...[,order=X,Y,Z]' voxfilt -f gauss:1,2,3,4
refuses 2 'voxfilt: --filter: heat:3: expected heat' voxfilt -f heat:3
refuses 2 'voxfilt: --filter: sobel:w: expected sobel:x|y|z' voxfilt -f sobel:w
refuses 2 'voxfilt: --filter: unsharp:1: expected unsharp:S[u],A' voxfilt -f unsharp:1
refuses 2 'voxfilt: --filter: seven:1,2: expected seven:c0,...,c6' voxfilt -f seven:1,2
refuses 2 'voxfilt: --filter: matrix:: expected matrix:"ROW; ..."[/D]' voxfilt -f matrix:
refuses 2 'voxfilt: --filter: gauss:-1: a standard deviation of -1 is below 0' v8 -f gauss:-1 -o out
refuses 2 'voxfilt: --filter: gauss:1,order=: expected gauss:S[u],...[,order=X,Y,Z]' voxfilt -f gauss:1,order=
refuses 2 'voxfilt: --filter: gauss:1,order=0,0,0,1: expected gauss:S[u],...[,order=X,Y,Z]' voxfilt -f gauss:1,order=0,0,0,1
refuses 2 'voxfilt: --filter: unsharp:1,order=1: expected unsharp:S[u],A' voxfilt -f unsharp:1,order=1
refuses 2 'voxfilt: --filter: gauss:1,order=1: order= takes a number for each of the 3 axes' v8 -f gauss:1,order=1 -o out
refuses 2 'voxfilt: --filter: gauss:1,order=0,9,0: the order of a derivative is a whole number from 0 to 8' v8 -f gauss:1,order=0,9,0 -o out
refuses 2 'voxfilt: --filter: gauss:1,order=0,0.5,0: the order of a derivative is a whole number from 0 to 8' v8 -f gauss:1,order=0,0.5,0 -o out
refuses 2 'voxfilt: --filter: gauss:1,order=0,0,1: this grid has no z axis' voxfilt -i v8.raw -d 8,64 -f gauss:1,order=0,0,1 -o out
refuses 2 'voxfilt: --filter: log:0.1: a derivative along x of a standard deviation of 0.1 samples has no taps: it takes 0.125 or more' v8 -f log:0.1 -o out
refuses 2 'voxfilt: --filter: gradmag:-1: a standard deviation of -1 is below 0' v8 -f gradmag:-1 -o out
refuses 2 'voxfilt: --filter: bilateral:1: expected bilateral:SS[u],SR' voxfilt -f bilateral:1
refuses 2 'voxfilt: --filter: bilateral:0,1: both standard deviations are above 0' v8 -f bilateral:0,1 -o out
refuses 2 'voxfilt: --filter: bilateral:1,-2: both standard deviations are above 0' v8 -f bilateral:1,-2 -o out
refuses 2 'voxfilt: --filter: bilateral:33,1: a radius of 66 is more than 64' v8 -f bilateral:33,1 -o out
refuses 2 'voxfilt: bilateral:1,1e-39: 1/SR of 7.07107e+38 does not fit f32 (--work f64 has a larger range)' v8 -f bilateral:1,1e-39 -o out
refuses 2 'voxfilt: --filter: dog:1: expected dog:S1[u],S2' voxfilt -f dog:1
refuses 2 'voxfilt: --filter: gauss:1e9: a radius of 4000000000 is more than 1048576' v8 -f gauss:1e9 -o out
refuses 2 'voxfilt: --filter: box:1.5: the radius is a whole number, 0 or more' v8 -f box:1.5 -o out
refuses 2 'voxfilt: --filter: star:3: the order is 2, 4, 6 or 8' v8 -f star:3 -o out
refuses 2 'voxfilt: --filter: twentyseven:1,2,3,4,5: 5 weights: there are 4 or 27' v8 -f twentyseven:1,2,3,4,5
refuses 2 'voxfilt: --filter: matrix:1 2;3: row 2 of the matrix has 1 weight, the first has 2' v8 -f 'matrix:1 2;3'
refuses 2 'voxfilt: --filter: matrix:1 a: row 1 of the matrix: not a number' v8 -f 'matrix:1 a'
refuses 2 'voxfilt: --filter: matrix:;: a matrix has 1 to 1024 rows and columns' v8 -f 'matrix:;'
refuses 2 'voxfilt: --filter: matrix:1/0: the divisor of the matrix must be a number, and not 0' \
    v8 -f 'matrix:1/0'
refuses 2 'voxfilt: --filter: sobel:z: this grid has no z axis' voxfilt -i v8.raw -t u8 -d 16,32 -f sobel:z
refuses 2 'voxfilt: --filter: seven:1,0,0,0,0,0,1: it has taps along z, and this grid has no z axis' \
    voxfilt -i v8.raw -t u8 -d 16,32 -f seven:1,0,0,0,0,0,1
refuses 2 'imgheat: --filter: twentyseven:1,1,1,1: it has taps along z, and this grid has no z axis' \
    imgheat -f twentyseven:1,1,1,1 gray.png

printf '0 0 0 1\n0 0 0 2\n' > twice.taps
printf '# offsets\n0 0 x 1\n' > letter.taps
printf '0 0 1\n' > three.taps
printf '2000000 0 0 1\n' > far.taps
printf '0 0 0 1\000junk\n' > nul.taps
tap='a tap is three whole offsets and a weight: dx dy dz w'
refuses 3 'voxfilt: --filter: twice.taps: line 2: the tap at 0 0 0 is given twice' v8 -f taps:twice.taps
refuses 3 "voxfilt: --filter: letter.taps: line 2: $tap" v8 -f taps:letter.taps
refuses 3 "voxfilt: --filter: three.taps: line 1: $tap" v8 -f taps:three.taps
refuses 3 'voxfilt: --filter: far.taps: line 1: the tap at 2000000 0 0 reaches farther than 1048576 samples' \
    v8 -f taps:far.taps
refuses 3 "voxfilt: --filter: nul.taps: line 1: $tap" v8 -f taps:nul.taps
refuses 4 'voxfilt: --filter: none.taps: No such file or directory' v8 -f taps:none.taps
refuses 4 'voxfilt: --filter: .: Is a directory' v8 -f taps:.

# ---------------------------------------------------------------- heat

refuses 2 'voxfilt: heat: alpha*dt = 1 is unstable on this grid: the largest stable value is 0.166666 (--force runs it anyway)' \
    v8 --dt 1 -o out
refuses 2 'imgheat: heat: alpha*dt = 0.26 is unstable on this grid: the largest stable value is 0.25 (--force runs it anyway)' \
    imgheat --alpha 2 --dt 0.13 gray.png -o out
accepts 'the largest stable value is taken' '' v8 --dt 0.166666 -o stable.raw
accepts '--force runs what is unstable' 'voxfilt: unstable.raw: 257 samples (50 %) were cut off at 0, and 255 samples (50 %) at 255
' v8 --dt 1 --force -o unstable.raw
refuses 2 'voxfilt: --sigma chooses steps and dt itself: it excludes --steps, --dt and --until' v8 --sigma 2 --steps 3
refuses 2 'voxfilt: --sigma chooses steps and dt itself: it excludes --steps, --dt and --until' v8 --sigma 2 --until 3
refuses 2 'voxfilt: --force: no stage of this chain is heat' v8 --force -f gauss:1
refuses 2 'voxfilt: --sigma needs an --alpha above 0' v8 --sigma 2 --alpha 0
refuses 2 'voxfilt: --sigma 1e+09 takes 4e+18 steps: more than 10^9' v8 --sigma 1e9
refuses 2 'voxfilt: --filter: gauss:1,2: 2 numbers for 3 axes: give one for all, or one for each' v8 -f gauss:1,2 -o out
refuses 2 'voxfilt: --filter: box:1,2,3: 3 numbers for 2 axes: give one for all, or one for each' v8 -f box:1,2,3 --axes xz -o out
refuses 2 'voxfilt: --filter: gauss:1mm,2cm,3mm: expected gauss:S[u],...[,order=X,Y,Z]' v8 -f gauss:1mm,2cm,3mm -o out
refuses 2 'voxfilt: --filter: gauss:1q: expected gauss:S[u],...[,order=X,Y,Z]' v8 -f gauss:1q -o out
refuses 2 'voxfilt: --filter: bilateral:2mm,3mm: expected bilateral:SS[u],SR' v8 -f bilateral:2mm,3mm -o out
refuses 2 'voxfilt: --filter: unsharp:1u,2u: expected unsharp:S[u],A' v8 -f unsharp:1u,2u -o out
for axes in xx '' xyw X; do
    refuses 2 "voxfilt: --axes: $axes: expected some of x, y and z, each once, such as xy" v8 --axes "$axes" -o out
done
refuses 2 'voxfilt: --axes: abs: this filter has its own taps, or reads one sample' v8 -f abs --axes x -o out
refuses 2 'voxfilt: --axes: no stage of this chain has a filter that acts along axes' v8 --axes xy -f identity -o out
refuses 2 'voxfilt: --filter: sobel:z: --axes leaves out z' v8 -f sobel:z --axes xy -o out
refuses 2 'voxfilt: --filter: gauss:1,order=1,0,0: --axes leaves out x' v8 -f gauss:1,order=1,0,0 --axes yz -o out
refuses 2 'imgheat: --axes: heat: this grid has no z axis' imgheat --axes xz -i gray.png -o out
refuses 2 'voxfilt: --fwhm: no stage of this chain has a sigma' v8 --fwhm -o out
refuses 2 'voxfilt: --fwhm: heat: it needs --sigma' v8 -f heat --fwhm -o out
refuses 2 'voxfilt: --fwhm: box:1: this filter has no sigma' v8 -f box:1 --fwhm -o out
refuses 2 'voxfilt: --scale: no stage of this chain has a nonlinear flux' v8 --scale 3
refuses 2 'voxfilt: --scale: heat: a linear flux has no scale' v8 -f heat --scale 3
refuses 2 'voxfilt: heat: 1/scale of 1e+50 does not fit f32 (--work f64 has a larger range)' v8 --flux pm2 --scale 1e-50
refuses 2 'voxfilt: matrix:1e300: a weight of 1e+300 does not fit f32 (--work f64 has a larger range)' v8 -f matrix:1e300
refuses 2 'voxfilt: heat: --edge: a constant of inf does not fit f32 (--work f64 has a larger range)' v8 -e constant:1e300
accepts 'a default scale goes to the stages that have one' '' \
    v8 --scale 5 -f heat --flux pm1 -f heat -o scaled.raw
refuses 2 'voxfilt: --alpha: gauss:1: this filter is not heat' v8 -f gauss:1 --alpha 3

conclude
