#!/bin/sh
# Remove the noise from a CT volume, keep its edges, and measure how much nearer to the truth the result is.
#
# The volume is a phantom of a head, without and with noise, in the 12 bits of scanners. Its slices are farther apart than
# the pixels of a slice; voxfilt takes the distances from the header. The Perona-Malik flux conducts little where neighbours
# differ by more than --scale, so noise goes and edges stay. Plain heat blurs both.
#
# Usage: denoise-ct.sh [FOLDER]        needs voxfilt on PATH; FOLDER is ./denoise-ct by default
set -eu

[ $# -le 1 ] || { echo 'Usage: denoise-ct.sh [FOLDER]' >&2; exit 2; }
mkdir -p "${1:-denoise-ct}"
cd "${1:-denoise-ct}"

# An NRRD file with samples as text. The noise is the sum of four numbers of the "minimal standard" generator, so that
# every awk makes the same volume.
phantom() # NOISE
{
    awk -v noise="$1" '
        function ellipsoid(cx, cy, cz, ax, ay, az, density) {
            n++
            x0[n] = cx; y0[n] = cy; z0[n] = cz; ax2[n] = ax * ax; ay2[n] = ay * ay; az2[n] = az * az; add[n] = density
        }
        function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 - 0.5 }
        BEGIN {
            nx = 96; ny = 96; nz = 32; seed = 1
            ellipsoid(0, 0, 0, 0.69, 0.92, 0.90, 1800)          # skull, and later ones lie in it
            ellipsoid(0, -0.02, 0, 0.62, 0.84, 0.84, -800)      # brain
            ellipsoid(0.22, 0, 0, 0.11, 0.31, 0.40, -250)       # ventricles
            ellipsoid(-0.22, 0, 0, 0.16, 0.41, 0.40, -250)
            ellipsoid(0, 0.35, 0, 0.21, 0.25, 0.50, 200)        # tissue
            ellipsoid(0, -0.40, 0, 0.06, 0.06, 0.20, 300)       # nodules
            ellipsoid(0.10, -0.60, 0, 0.04, 0.05, 0.15, 300)
            print "NRRD0004\ntype: ushort\ndimension: 3\nsizes: " nx, ny, nz "\nspacings: 0.5 0.5 1\nencoding: text\n"
            for (z = 0; z < nz; z++) for (y = 0; y < ny; y++) for (x = 0; x < nx; x++) {
                px = (2 * x + 1) / nx - 1; py = (2 * y + 1) / ny - 1; pz = (2 * z + 1) / nz - 1; density = 700
                for (i = 1; i <= n; i++) {
                    dx = px - x0[i]; dy = py - y0[i]; dz = pz - z0[i]
                    if (dx * dx / ax2[i] + dy * dy / ay2[i] + dz * dz / az2[i] <= 1) density += add[i]
                }
                print int(density + noise * (uniform() + uniform() + uniform() + uniform()))
            }
        }'
}

# The peak signal-to-noise ratio of a volume, in decibels: 10 log10(peak squared / mean squared error).
psnr() # VOLUME
{
    voxfilt -q -i "$1" -f identity --out-format raw | od -An -v -tu1 > volume.txt
    paste clean.txt volume.txt | awk -v peak=4095 '
        {
            half = NF / 2
            for (i = 1; i < half; i += 2) {
                error = $i + 256 * $(i + 1) - $(i + half) - 256 * $(i + 1 + half)
                sum += error * error; count++
            }
        }
        END { printf "%.1f dB\n", 10 * log(peak * peak * count / sum) / log(10) }'
}

phantom 0 > clean.nrrd
phantom 300 > ct.nrrd
voxfilt -q -i clean.nrrd -f identity --out-format raw | od -An -v -tu1 > clean.txt

voxfilt -i ct.nrrd -f heat -s 1 -o blurred.nrrd
voxfilt -i ct.nrrd -f heat -s 20 --flux pm1 --scale 300 --preview denoised.png -o denoised.nrrd

echo "with noise               $(psnr ct.nrrd)"
echo "plain heat, at its best  $(psnr blurred.nrrd)"
echo "Perona-Malik             $(psnr denoised.nrrd)"
echo "before and after, to look at: $PWD/denoised.png"
rm clean.txt volume.txt
