#!/usr/bin/env python3
"""Round trips: what voxfilt writes is read by voxfilt and by the libraries of others, and what those write is read by voxfilt,
in every type, byte order, format and encoding.

Usage: readers.py VOXFILT, in a folder of its own. Needs NumPy; of nibabel, pynrrd, SimpleITK and tifffile it uses those that
are there. Prints how many files were read, and by whom; exits with 1 if one was read differently, with 77 without NumPy."""
import collections
import importlib
import itertools
import subprocess
import sys


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


numpy, nibabel, nrrd, itk, tifffile = (library(name) for name in ('numpy', 'nibabel', 'nrrd', 'SimpleITK', 'tifffile'))
TYPES = {'u8': 'u1', 'i8': 'i1', 'u16': 'u2', 'i16': 'i2', 'u32': 'u4', 'i32': 'i4', 'u64': 'u8', 'i64': 'i8', 'f16': 'f2', 'f32': 'f4',
         'f64': 'f8'}
ORDERS = {'little': '<', 'big': '>'}


def nibabel_reads(path):
    return numpy.asarray(nibabel.load(path).dataobj).transpose(2, 1, 0)


def nrrd_reads(path):
    return nrrd.read(path)[0].transpose(2, 1, 0)


def itk_reads(path):
    return itk.GetArrayFromImage(itk.ReadImage(path))


def numpy_reads(path):
    return numpy.load(path)


def tifffile_reads(path):
    return tifffile.imread(path)


# A format that voxfilt writes, the level of its compression, and who else reads it.
WRITTEN = [('nii', None, (nibabel_reads, itk_reads)), ('nii.gz', None, (nibabel_reads, itk_reads)),
           ('hdr', None, (nibabel_reads,)), ('nrrd', None, (nrrd_reads, itk_reads)), ('nrrd', 6, (nrrd_reads, itk_reads)),
           ('nhdr', None, (nrrd_reads, itk_reads)), ('nhdr', 6, (nrrd_reads,)), ('mha', None, (itk_reads,)),
           ('mha', 6, (itk_reads,)), ('mhd', None, (itk_reads,)), ('mhd', 6, (itk_reads,)), ('npy', None, (numpy_reads,)),
           ('tif', None, (tifffile_reads,)), ('tif', 6, (tifffile_reads,)), ('raw.gz', None, ())]

# Who has f16: neither other formats nor their libraries.
HALVES = ('npy', 'tif', 'raw.gz')


def nibabel_writes(image):
    def write(samples, path):
        made = image(samples.transpose(2, 1, 0), numpy.eye(4), dtype=samples.dtype)
        made.header.set_data_dtype(samples.dtype)
        endian = '>' if samples.dtype.byteorder == '>' else '<'
        nibabel.save(image(samples.transpose(2, 1, 0), numpy.eye(4), made.header.as_byteswapped(endian)), path)
    return write


def nrrd_writes(encoding):
    def write(samples, path):
        nrrd.write(path, samples.transpose(2, 1, 0), {'encoding': encoding})
    return write


def itk_writes(compressed):
    def write(samples, path):
        itk.WriteImage(itk.GetImageFromArray(samples.astype(samples.dtype.newbyteorder('='))), path, compressed)
    return write


def numpy_writes(order):
    def write(samples, path):
        numpy.save(path, numpy.asarray(samples, order=order))
    return write


def tifffile_writes(**how):
    def write(samples, path):
        tifffile.imwrite(path, samples, byteorder='>' if samples.dtype.byteorder == '>' else '<', photometric='minisblack', **how)
    return write


# A format that others write, how, and the library; ITK writes in the order of the machine alone.
def foreign():
    if nibabel:
        yield from ((form, 'nibabel ' + name, nibabel_writes(image)) for form in ('nii', 'nii.gz')
                    for name, image in (('1', nibabel.Nifti1Image), ('2', nibabel.Nifti2Image)))
        yield 'hdr', 'nibabel pair', nibabel_writes(nibabel.Nifti1Pair)
    if nrrd:
        yield from ((form, 'pynrrd ' + encoding, nrrd_writes(encoding)) for form in ('nrrd', 'nhdr')
                    for encoding in ('raw', 'gzip', 'bzip2', 'ascii'))
    if itk:
        yield from ((form, 'ITK' + ' compressed' * packed, itk_writes(packed)) for form in ('nrrd', 'nhdr', 'mha', 'mhd', 'nii')
                    for packed in (False, True))
    yield from (('npy', 'numpy ' + order, numpy_writes(order)) for order in 'CF')
    if tifffile:
        yield 'tif', 'tifffile', tifffile_writes()
        yield 'tif', 'tifffile BigTIFF', tifffile_writes(bigtiff=True)
        yield 'tif', 'tifffile tiles', tifffile_writes(tile=(16, 16))
        yield 'tif', 'tifffile deflate', tifffile_writes(compression='zlib')


def has_no(kind, form):
    return kind == 'f16' and form not in HALVES


LIBRARIES = {nibabel_reads: nibabel, nrrd_reads: nrrd, itk_reads: itk, numpy_reads: numpy, tifffile_reads: tifffile}


class Trips:
    def __init__(self, voxfilt):
        self.voxfilt = voxfilt
        self.counts = collections.Counter()
        self.wrong = 0

    def run(self, *arguments):
        return subprocess.run([self.voxfilt, '-D', 'cpu', '-q', '-f', 'identity', *arguments], stderr=subprocess.PIPE, text=True,
                              check=False)

    def compare(self, reader, what, samples, found):
        self.counts[reader] += 1
        if found is None or found.shape != samples.shape or found.dtype != samples.dtype.newbyteorder(found.dtype.byteorder) \
                or (found != samples).any():
            print('read differently by', reader + ':', what)
            self.wrong += 1

    def ours(self, path, what, samples, *arguments):
        """Reads a file by voxfilt, as raw samples in the order of these."""
        order = 'big' if samples.dtype.byteorder == '>' else 'little'
        run = self.run('-i', path, *arguments, '--out-endian', order, '-o', 'back.raw')
        if 'built without libtiff' in run.stderr:
            self.counts['nobody: voxfilt has no libtiff'] += 1
            return
        found = numpy.fromfile('back.raw', samples.dtype) if run.returncode == 0 else None
        if found is not None and found.size == samples.size:
            found = found.reshape(samples.shape)
        elif run.stderr:
            print(run.stderr, end='')
        self.compare('voxfilt', what, samples, found)

    def write(self, samples, kind, order):
        """Voxfilt writes; itself and others read."""
        raw = ('-d', '6,5,4', '-t', kind, '--endian', order)
        samples.tofile('in.raw')
        for form, level, readers in WRITTEN:
            path, what = 'volume.' + form, ' '.join(('voxfilt', form, str(level), kind, order))
            run = self.run('-i', 'in.raw', *raw, '-o', path, *(('--level', str(level)) if level else ()))
            if run.returncode == 2 and has_no(kind, form) and f'the format {form} has no samples of type f16' in run.stderr:
                continue
            if run.returncode != 0 or has_no(kind, form):
                print(what + ':', run.stderr, end='')
                self.wrong += 1
                continue
            self.ours(path, what, samples, *(raw if form == 'raw.gz' else ()))
            for read in readers:
                if LIBRARIES[read] is not None:
                    self.compare(read.__name__.split('_')[0], what, samples, read(path))

    def read(self, samples, kind, order):
        """Others write; voxfilt reads."""
        for form, writer, write in foreign():
            if has_no(kind, form):
                continue
            path = 'theirs.' + form
            write(samples, path)
            self.ours(path, ' '.join((writer, form, kind, order)), samples)


def check(voxfilt):
    trips = Trips(voxfilt)
    for (kind, code), (order, mark) in itertools.product(TYPES.items(), ORDERS.items()):
        samples = (numpy.random.default_rng(7).random((4, 5, 6)) * 100).astype(mark + code)
        trips.write(samples, kind, order)
        trips.read(samples, kind, order)
    print(', '.join('%d files read by %s' % (count, name) for name, count in sorted(trips.counts.items())))
    return 1 if trips.wrong else 0


if __name__ == '__main__':
    sys.exit(77 if numpy is None else check(sys.argv[1]))
