#!/usr/bin/env python3
"""What voxfilt writes, read by the libraries of others: every type, byte order and format, compressed or not.

Usage: readers.py VOXFILT, in a folder of its own. Needs NumPy; of nibabel, pynrrd and SimpleITK it uses those that are
there. Prints how many files were read, and by whom; exits with 1 if one was read differently, with 77 without NumPy."""
import importlib
import itertools
import subprocess
import sys


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


numpy, nibabel, nrrd, itk = (library(name) for name in ('numpy', 'nibabel', 'nrrd', 'SimpleITK'))
TYPES = {'u8': 'u1', 'i8': 'i1', 'u16': 'u2', 'i16': 'i2', 'u32': 'u4', 'i32': 'i4', 'f32': 'f4', 'f64': 'f8'}


def by_nibabel(path):
    return numpy.asarray(nibabel.load(path).dataobj).transpose(2, 1, 0)


def by_nrrd(path):
    return nrrd.read(path)[0].transpose(2, 1, 0)


def by_itk(path):
    return itk.GetArrayFromImage(itk.ReadImage(path))


def by_numpy(path):
    return numpy.load(path)


# Formats, the level of compression, and who reads them.
FORMATS = [('nii', None, (by_nibabel, by_itk)), ('nii.gz', None, (by_nibabel, by_itk)), ('hdr', None, (by_nibabel,)),
           ('nrrd', None, (by_nrrd, by_itk)), ('nrrd', 6, (by_nrrd, by_itk)), ('nhdr', None, (by_nrrd, by_itk)),
           ('nhdr', 6, (by_nrrd,)), ('mha', None, (by_itk,)), ('mha', 6, (by_itk,)), ('mhd', None, (by_itk,)),
           ('mhd', 6, (by_itk,)), ('npy', None, (by_numpy,))]
LIBRARIES = {by_nibabel: nibabel, by_nrrd: nrrd, by_itk: itk, by_numpy: numpy}


def check(voxfilt):
    counts = {read.__name__: 0 for read in LIBRARIES}
    wrong = 0
    for (kind, code), order, (form, level, readers) in itertools.product(TYPES.items(), ('little', 'big'), FORMATS):
        samples = (numpy.random.default_rng(7).random((4, 5, 6)) * 100).astype('<>'[order == 'big'] + code)
        samples.tofile('in.raw')
        command = [voxfilt, '-D', 'cpu', '-q', '-i', 'in.raw', '-d', '6,5,4', '-t', kind, '--endian', order, '-f', 'identity',
                   '-o', 'volume.' + form] + (['--level', str(level)] if level else [])
        subprocess.run(command, check=True)
        for read in readers:
            if LIBRARIES[read] is None:
                continue
            counts[read.__name__] += 1
            found = read('volume.' + form)
            if found.shape != samples.shape or found.dtype.itemsize != samples.dtype.itemsize or (found != samples).any():
                print('read differently', read.__name__, ' '.join(command))
                wrong += 1
    print(', '.join('%d files %s' % (count, name.replace('_', ' ')) for name, count in counts.items()))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(77 if numpy is None else check(sys.argv[1]))
