"""A phantom and dask-image, for bench/zarr_rivals.sh.

zarr_rival.py make SIDE PLANES   samples of u16 on standard output: zeros around a specimen, in which the light is smooth
                                 but for the noise of counted photons
zarr_rival.py blur IN OUT        a Gaussian of sigma 2 of the array 0 in the store IN
zarr_rival.py differ A B         the largest difference between the arrays 0 of two stores; fails if it is above 1
"""
import sys

import numpy


def make(side, planes):
    random = numpy.random.default_rng(1)
    y, x = numpy.mgrid[:side, :side].astype('f4')
    light = 150 + 60 * numpy.sin(x / 90) * numpy.cos(y / 70) + 40 * numpy.sin((x + y) / 23)
    noise = random.standard_normal(2 * side * side, 'f4')
    spread = numpy.sqrt(light)
    distance = ((x - side / 2) / (0.47 * side)) ** 2 + ((y - side / 2) / (0.45 * side)) ** 2
    for z in range(planes):
        height = ((2 * z + 1) / planes - 1) / 0.95
        bright = numpy.float32(1 + 0.3 * numpy.sin(z / 40))
        first = random.integers(side * side)
        plane = light * bright
        plane += spread * numpy.sqrt(bright) * noise[first:first + side * side].reshape(side, side)
        plane *= distance < 1 - height * height
        sys.stdout.buffer.write(plane.astype('<u2').tobytes())


def blur(source, target):
    import dask.array
    from dask_image import ndfilters
    volume = dask.array.from_zarr(source, component='0').rechunk((128, 256, 256))
    found = ndfilters.gaussian_filter(volume.astype('f4'), 2, mode='reflect')
    found.round().clip(0, 65535).astype('u2').to_zarr(target, component='0')


def differ(one, other):
    import zarr
    a, b = zarr.open(one + '/0', mode='r'), zarr.open(other + '/0', mode='r')
    most = 0
    for z in range(0, a.shape[0], 128):
        most = max(most, numpy.abs(a[z:z + 128].astype('i4') - b[z:z + 128]).max())
    print('samples differ by %d at most' % most)
    return int(most > 1)


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == 'blur':
        blur(*sys.argv[2:])
    else:
        sys.exit(differ(*sys.argv[2:]))
