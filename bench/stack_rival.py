"""scipy.ndimage and tifffile on a stack of files, for bench/stack_rivals.sh.

stack_rival.py make FOLDER FILES SIDE   TIFF files of u8: waves, and noise that no two share
stack_rival.py ENDING TO                a Gaussian of sigma 1 of the files in the folder ENDING
"""
import glob
import os
import sys

import numpy
import tifffile


def make(folder, files, side):
    random = numpy.random.default_rng(1)
    y, x = numpy.mgrid[:side, :side].astype('f4')
    waves = 100 + 60 * numpy.sin(x / 90) * numpy.cos(y / 70) + random.normal(0, 4, (side, side)).astype('f4')
    for number in range(files):
        plane = numpy.roll(waves, (37 * number % side, 91 * number % side), (0, 1))
        tifffile.imwrite('%s/%04d.tif' % (folder, number), plane.clip(0, 255).astype('u1'), photometric='minisblack',
                         metadata=None)


def blur(ending, to):
    from scipy import ndimage
    paths = sorted(glob.glob('%s/*.%s' % (ending, ending)))
    if ending == 'png':
        import imagecodecs
        volume = numpy.stack([imagecodecs.imread(path) for path in paths])
    else:
        volume = tifffile.imread(paths)
    found = ndimage.gaussian_filter(volume.astype('f4'), 1.0, mode='reflect').round().clip(0, 255).astype('u1')
    for path, plane in zip(paths, found):
        name = os.path.join(to, os.path.basename(path))
        if ending == 'png':
            imagecodecs.imwrite(name, plane)
        else:
            tifffile.imwrite(name, plane, photometric='minisblack', metadata=None)


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        blur(*sys.argv[1:])
