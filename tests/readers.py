#!/usr/bin/env python3
"""Round trips: what voxfilt writes is read by voxfilt and by the libraries of others, and what those write is read by voxfilt,
in every type, byte order, format and encoding; then channels, series, stacks of pictures, and where a volume is in space.

Usage: readers.py VOXFILT, in a folder of its own. Needs NumPy; of nibabel, pynrrd, SimpleITK, tifffile, imagecodecs and teem's
unu it uses those that are there, and where the environment has REQUIRE_READERS, all but unu must be. Prints how many files were
read, and by whom; exits with 1 if one was read differently, with 77 without NumPy."""
import collections
import gzip
import importlib
import itertools
import os
import shutil
import subprocess
import sys


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


NAMES = ('numpy', 'nibabel', 'nrrd', 'SimpleITK', 'tifffile', 'imagecodecs')
numpy, nibabel, nrrd, itk, tifffile, imagecodecs = readers = [library(name) for name in NAMES]
unu = shutil.which('teem-unu') or shutil.which('unu')
TYPES = {'u8': 'u1', 'i8': 'i1', 'u16': 'u2', 'i16': 'i2', 'u32': 'u4', 'i32': 'i4', 'u64': 'u8', 'i64': 'i8', 'f16': 'f2', 'f32': 'f4',
         'f64': 'f8'}
ORDERS = {'little': '<', 'big': '>'}


def nibabel_reads(path):
    return numpy.asarray(nibabel.load(path).dataobj).transpose(2, 1, 0)


def nrrd_reads(path):
    return nrrd.read(path)[0].transpose(2, 1, 0)


def itk_reads(path):
    return itk.GetArrayFromImage(itk.ReadImage(path))


def run_unu(*arguments):
    subprocess.run([unu, *arguments], check=True, capture_output=True)


def unu_reads(path):
    run_unu('save', '-f', 'nrrd', '-e', 'raw', '-en', 'little', '-i', path, '-o', 'unu.nrrd')
    with open('unu.nrrd', 'rb') as file:
        head, data = file.read().split(b'\n\n', 1)
    fields = dict(line.split(': ', 1) for line in head.decode().splitlines() if ': ' in line)
    return numpy.frombuffer(data, '<' + TYPES[UNU_TYPES[fields['type']]]).reshape(
        [int(size) for size in reversed(fields['sizes'].split())])


def gzip_reads(path):
    with gzip.open(path) as file:
        return file.read()


def numpy_reads(path):
    return numpy.load(path)


def tifffile_reads(path):
    return tifffile.imread(path)


# As unu writes them.
UNU_TYPES = {'unsigned char': 'u8', 'signed char': 'i8', 'unsigned short': 'u16', 'short': 'i16', 'unsigned int': 'u32',
             'int': 'i32', 'unsigned long long int': 'u64', 'long long int': 'i64', 'float': 'f32', 'double': 'f64'}

# A format that voxfilt writes, the level of its compression, and who else reads it.
WRITTEN = [('nii', None, (nibabel_reads, itk_reads)), ('nii.gz', None, (nibabel_reads, itk_reads)),
           ('hdr', None, (nibabel_reads,)), ('nrrd', None, (nrrd_reads, itk_reads, unu_reads)),
           ('nrrd', 6, (nrrd_reads, itk_reads, unu_reads)), ('nhdr', None, (nrrd_reads, itk_reads, unu_reads)),
           ('nhdr', 6, (nrrd_reads, unu_reads)), ('mha', None, (itk_reads,)),
           ('mha', 6, (itk_reads,)), ('mhd', None, (itk_reads,)), ('mhd', 6, (itk_reads,)), ('npy', None, (numpy_reads,)),
           ('tif', None, (tifffile_reads,)), ('tif', 6, (tifffile_reads,)), ('raw.gz', None, (gzip_reads,))]

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


def unu_writes(encoding):
    def write(samples, path):
        endian = 'big' if samples.dtype.byteorder == '>' else 'little'
        kind = next(name for name, kind in UNU_TYPES.items() if TYPES[kind] == samples.dtype.str[1:])
        samples.tofile('unu.raw')
        run_unu('make', '-t', kind, '-s', *map(str, reversed(samples.shape)), '-e', 'raw', '-en', endian, '-i', 'unu.raw',
                '-o', 'made.nrrd')
        # Asked for big-endian text, unu prints the numbers with their bytes swapped.
        wanted = 'little' if encoding == 'ascii' else endian
        run_unu('save', '-f', 'nrrd', '-e', encoding, '-en', wanted, '-i', 'made.nrrd', '-o', path)
    return write


def itk_writes(compressed):
    def write(samples, path):
        itk.WriteImage(itk.GetImageFromArray(samples.astype(samples.dtype.newbyteorder('='))), path, compressed)
    return write


# ITK's header, with samples in the other byte order.
def itk_writes_big(samples, path):
    itk_writes(False)(samples, path)
    with open(path, 'rb') as file:
        head = file.read().split(b'LOCAL\n', 1)[0]
    with open(path, 'wb') as file:
        file.write(head.replace(b'ByteOrderMSB = False', b'ByteOrderMSB = True') + b'LOCAL\n')
        file.write(samples.astype('>' + samples.dtype.str[1:]).tobytes())


def numpy_writes(order, version):
    def write(samples, path):
        with open(path, 'wb') as file:
            numpy.lib.format.write_array(file, numpy.asarray(samples, order=order), version=(version, 0))
    return write


def gzip_writes(samples, path):
    with gzip.open(path, 'wb') as file:
        file.write(samples.tobytes())


def tifffile_writes(**how):
    def write(samples, path):
        tifffile.imwrite(path, samples, byteorder='>' if samples.dtype.byteorder == '>' else '<', photometric='minisblack', **how)
    return write


# A format that others write, how, and the library; ITK writes in the order of the machine alone.
def foreign():
    if nibabel:
        yield from ((form, 'nibabel ' + name, nibabel_writes(image)) for form in ('nii', 'nii.gz')
                    for name, image in (('1', nibabel.Nifti1Image), ('2', nibabel.Nifti2Image)))
        yield from (('hdr', 'nibabel pair ' + name, nibabel_writes(image))
                    for name, image in (('1', nibabel.Nifti1Pair), ('2', nibabel.Nifti2Pair)))
    if nrrd:
        yield from ((form, 'pynrrd ' + encoding, nrrd_writes(encoding)) for form in ('nrrd', 'nhdr')
                    for encoding in ('raw', 'gzip', 'bzip2', 'ascii'))
    if unu:
        yield from ((form, 'unu ' + encoding, unu_writes(encoding)) for form in ('nrrd', 'nhdr')
                    for encoding in ('raw', 'ascii', 'hex', 'gzip', 'bzip2'))
    if itk:
        yield 'mha', 'ITK big-endian', itk_writes_big
        yield from ((form, 'ITK' + ' compressed' * packed, itk_writes(packed)) for form in ('nrrd', 'nhdr', 'mha', 'mhd', 'nii')
                    for packed in (False, True))
    yield from (('npy', f'numpy {order} {version}', numpy_writes(order, version)) for order in 'CF' for version in (1, 2, 3))
    yield 'raw.gz', 'gzip', gzip_writes
    if tifffile:
        yield 'tif', 'tifffile', tifffile_writes()
        yield 'tif', 'tifffile BigTIFF', tifffile_writes(bigtiff=True)
        yield 'tif', 'tifffile tiles', tifffile_writes(tile=(16, 16))
        yield 'tif', 'tifffile deflate', tifffile_writes(compression='zlib')


def has_no(kind, form):
    return kind == 'f16' and form not in HALVES


LIBRARIES = {nibabel_reads: nibabel, nrrd_reads: nrrd, itk_reads: itk, numpy_reads: numpy, tifffile_reads: tifffile, unu_reads: unu,
             gzip_reads: gzip}


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

    def lacks_libtiff(self, run):
        lacks = 'built without libtiff' in run.stderr
        self.counts['nobody: voxfilt has no libtiff'] += lacks
        return lacks

    def ours(self, path, what, samples, *arguments):
        """Reads a file by voxfilt, as raw samples in the order of these."""
        order = 'big' if samples.dtype.byteorder == '>' else 'little'
        run = self.run('-i', path, *arguments, '--out-endian', order, '-o', 'back.raw')
        if self.lacks_libtiff(run):
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
                    found = read(path)
                    if isinstance(found, bytes):
                        found = numpy.frombuffer(found, samples.dtype).reshape(samples.shape)
                    self.compare(read.__name__.split('_')[0], what, samples, found)

    def read(self, samples, kind, order):
        """Others write; voxfilt reads."""
        for form, writer, write in foreign():
            if has_no(kind, form):
                continue
            path = 'theirs.' + form
            write(samples, path)
            self.ours(path, ' '.join((writer, form, kind, order)), samples,
                      *(('-d', '6,5,4', '-t', kind, '--endian', order) if form == 'raw.gz' else ()))

    def convert(self, path, what, *arguments):
        run = self.run('-i', path, *arguments)
        if run.returncode != 0 and not self.lacks_libtiff(run):
            print(what + ':', run.stderr, end='')
            self.wrong += 1
        return run.returncode == 0

    def channels(self):
        """Colours, and more channels than that."""
        for count, kind in itertools.product((2, 3, 4), ('u8', 'i16', 'f32')):
            samples = (numpy.random.default_rng(7).random((4, 5, 6, count)) * 100).astype(TYPES[kind])
            samples.tofile('in.raw')
            raw = ('-d', '6,5,4', '-t', kind, '--channels', str(count))
            for form, _, readers in WRITTEN:
                path, what = 'colours.' + form, f'{count} channels of {kind} in {form}'
                if form in ('npy', 'raw.gz') or (form in ('nii', 'nii.gz', 'hdr') and (kind != 'u8' or count == 2)):
                    continue
                if not self.convert('in.raw', what, *raw, '-o', path):
                    continue
                self.ours(path, what, samples)
                for read in (read for read in readers if LIBRARIES[read] is not None):
                    found = unpacked(read_all(read, path))
                    self.compare(read.__name__.split('_')[0], what, samples, found)

    def alphas(self):
        """What a filter does where the last channel is alpha; numbers of NumPy are the reference."""
        for (kind, code), associated in itertools.product(TYPES.items() if tifffile else (), (False, True)):
            random = numpy.random.default_rng(7)
            opaque = 1.0 if code[0] == 'f' else float(numpy.iinfo(code).max)
            part = random.random((4, 5, 6, 4))
            part[..., 3][random.random((4, 5, 6)) < 0.5] = 0
            samples = (part * (100, 100, 100, opaque)).astype(code)
            if associated:
                samples[..., :3] = (samples[..., :3] * part[..., 3:]).astype(code)
            meaning = 'assocalpha' if associated else 'unassalpha'
            tifffile.imwrite('alpha.tif', samples, photometric='rgb', extrasamples=[meaning], metadata=None)
            self.alpha('alpha.tif', f'{meaning} of {kind} in tif', samples, opaque, associated)
            if nrrd and kind != 'f16' and not associated:
                nrrd.write('alpha.nrrd', samples.transpose(3, 2, 1, 0), {'kinds': ['RGBA-color', 'domain', 'domain', 'domain']})
                self.alpha('alpha.nrrd', f'alpha of {kind} in nrrd', samples, opaque, False)
            if nibabel and kind == 'u8' and not associated:
                colours = numpy.dtype([(name, 'u1') for name in 'RGBA'])
                nibabel.save(nibabel.Nifti1Image(samples.copy().view(colours)[..., 0].T, numpy.eye(4)), 'alpha.nii')
                self.alpha('alpha.nii', 'alpha in nii', samples, opaque, False)
            if imagecodecs and kind in ('u8', 'u16') and not associated:
                for z in range(4):
                    imagecodecs.imwrite(f'alpha{z}.png', samples[z])
                self.alpha('alpha%d.png', f'alpha of {kind} in png', samples, opaque, False)

    def alpha(self, path, what, samples, opaque, associated):
        exact = samples.astype('f8')
        part = exact[..., 3:] / opaque
        covered = exact[..., :3] if associated else exact[..., :3] * part
        seen = boxed(part)
        if associated:
            blurred = boxed(covered)
        else:
            blurred = numpy.where(seen > 0, boxed(covered) / numpy.where(seen > 0, seen, 1), boxed(exact[..., :3]))
        plain = covered / numpy.where(part > 0, part, 1) if associated else exact[..., :3]
        slopes = numpy.sqrt(sum((shifted(plain, axis, 1) - shifted(plain, axis, -1)) ** 2 for axis in range(3))) / 2
        self.filtered(path, what + ', blurred', samples, numpy.concatenate((blurred, seen * opaque), -1), opaque, 'box:1')
        self.filtered(path, what + ', gradient', samples,
                      numpy.concatenate((slopes * part if associated else slopes, exact[..., 3:]), -1), opaque, 'gradient')

    def filtered(self, path, what, samples, expected, opaque, spec):
        whole = samples.dtype.kind != 'f'
        limit = {'rtol': 2e-3 if samples.dtype.itemsize == 2 and not whole else 1e-5, 'atol': 1.001 if whole else 1e-4}
        if whole:
            expected[..., :3] = numpy.clip(expected[..., :3], 0, opaque)
        for form, reader, read in (('tif', 'tifffile', self.alpha_of_tif), ('nrrd', 'nrrd', self.alpha_of_nrrd)):
            if form == 'nrrd' and (nrrd is None or samples.dtype == 'f2' or 'assoc' in what):
                continue
            if self.convert(path, what, '-f', spec, '-o', 'filtered.' + form):
                found = read('filtered.' + form, 'assoc' in what)
                near = found is not None and found.shape == expected.shape and numpy.allclose(found, expected, **limit)
                self.compare(reader, f'{what}, into {form}', samples, samples if near else None)

    def alpha_of_tif(self, path, associated):
        with tifffile.TiffFile(path) as file:
            told = [tuple(page.extrasamples) for page in file.pages]
            return file.asarray().astype('f8') if told == [(1 if associated else 2,)] * len(told) else None

    def alpha_of_nrrd(self, path, associated):
        samples, header = nrrd.read(path)
        return samples.T.astype('f8') if not associated and header['kinds'][0] == 'RGBA-color' else None

    def series(self):
        for kind in ('u8', 'i16', 'f64'):
            samples = (numpy.random.default_rng(7).random((3, 4, 5, 6)) * 100).astype(TYPES[kind])
            numpy.save('series.npy', samples)
            for form, _, readers in WRITTEN:
                path, what = 'volumes.' + form, f'a series of {kind} in {form}'
                if form in ('tif', 'raw.gz') or not self.convert('series.npy', what, '-o', path):
                    continue
                self.ours(path, what, samples)
                for read in (read for read in readers if LIBRARIES[read] is not None):
                    self.compare(read.__name__.split('_')[0], what, samples, read_all(read, path))

    def rods(self):
        """One axis, which ITK's readers refuse; a TIFF has a row of it."""
        for kind in ('u8', 'i16', 'f64'):
            samples = (numpy.random.default_rng(7).random(37) * 100).astype(TYPES[kind])
            numpy.save('rod.npy', samples)
            for form, _, readers in WRITTEN:
                path, what = 'rod.' + form, f'one axis of {kind} in {form}'
                if form == 'raw.gz' or not self.convert('rod.npy', what, '-o', path):
                    continue
                self.ours(path, what, samples)
                for read in (read for read in readers if LIBRARIES[read] is not None and read is not itk_reads):
                    self.compare(read.__name__.split('_')[0], what, samples[None] if form == 'tif' else samples,
                                 read_all(read, path))
            if nibabel:
                nibabel.save(nibabel.Nifti1Image(samples, numpy.eye(4)), 'theirs.nii')
                self.ours('theirs.nii', f'one axis of {kind} by nibabel', samples)
            if nrrd:
                nrrd.write('theirs.nrrd', samples)
                self.ours('theirs.nrrd', f'one axis of {kind} by pynrrd', samples)

    def wide(self):
        """Extents that are too large for NIfTI-1."""
        samples = numpy.arange(80000, dtype='i4').reshape(1, 2, 40000)
        numpy.save('wide.npy', samples)
        for form in ('nii', 'nii.gz', 'hdr'):
            if nibabel and self.convert('wide.npy', 'wide ' + form, '-o', 'wide.' + form):
                self.compare('nibabel', 'wide ' + form, samples, nibabel_reads('wide.' + form))

    def pictures(self):
        """Stacks of PNG pictures of every depth and number of channels."""
        for kind, count in itertools.product(('u8', 'u16') if imagecodecs else (), (1, 2, 3, 4)):
            shape, what = (3, 4, 5) + ((count,) if count > 1 else ()), f'pictures of {count} channels of {kind}'
            samples = numpy.random.default_rng(7).integers(0, 250, shape).astype(TYPES[kind])
            samples.tofile('in.raw')
            if self.convert('in.raw', what, '-d', '5,4,3', '-t', kind, '--channels', str(count), '-o', 'ours%02d.png'):
                found = numpy.stack([imagecodecs.imread(f'ours{z:02}.png') for z in range(3)])
                self.compare('imagecodecs', what, samples, found)
            for z in range(3):
                imagecodecs.imwrite(f'theirs{z:02}.png', samples[z])
            self.ours('theirs%02d.png', what, samples)
            for name in ('ours', 'theirs'):
                for z in range(3):
                    os.remove(f'{name}{z:02}.png')

    def positions(self):
        """The position of a volume: from nibabel's NIfTI into each format and back."""
        if not nibabel:
            return
        random = numpy.random.default_rng(7)
        for trial in range(9):
            place = numpy.eye(4)
            sheared = trial >= 6
            place[:3, :3] = random.normal(size=(3, 3)) if sheared else \
                numpy.linalg.qr(random.normal(size=(3, 3)))[0] @ numpy.diag((0.5, 0.7, 2.5))
            place[:3, 3] = random.normal(size=3) * 50
            made = nibabel.Nifti1Image(numpy.zeros((6, 5, 4), 'i2'), None)
            turned = trial % 2 and not sheared
            made.set_qform(place, 1 if turned else 0)
            made.set_sform(place, 0 if turned else 1)
            nibabel.save(made, 'placed.nii')
            moved = place.copy()
            moved[:3, 3] = (place @ (1, 2, 1, 1))[:3]
            for form, region in itertools.product(('nii.gz', 'nrrd', 'nhdr', 'mha', 'mhd'), (False, True)):
                path, what = 'placed.' + form, f'place {trial} in {form}' + ' of a region' * region
                there = self.convert('placed.nii', what, *(('--crop', '1:5,2:4,1:3') if region else ()), '-o', path) and \
                    self.convert(path, what, '-o', 'returned.nii')
                expected = moved if region else place
                self.compare_places('nibabel', what, expected, nibabel.load('returned.nii').affine if there else None)
                if itk and form != 'nii.gz' and there:
                    self.compare_places('itk', what, expected, itk_place(path))

    def values(self):
        """What samples stand for: the values that a filter makes of the values of a file."""
        if not nibabel:
            return
        samples = numpy.random.default_rng(7).integers(0, 3000, (6, 7, 8)).astype('i2')
        for (slope, inter), version in itertools.product(((1, -1024), (2.5, 3), (-0.5, -1024), (-2, 0)), (1, 2)):
            made = (nibabel.Nifti1Image if version == 1 else nibabel.Nifti2Image)(samples, numpy.eye(4))
            with open('scaled.nii', 'wb') as file:
                file.write(made.to_bytes())
                file.seek(112 if version == 1 else 176)
                file.write(numpy.array((slope, inter), '<f4' if version == 1 else '<f8').tobytes())
            numpy.save('values.npy', numpy.asarray(nibabel.load('scaled.nii').dataobj).T.astype('f8', order='C'))
            for stages in VALUE_STAGES:
                self.value(f'values {slope} v + {inter} after {stages}', stages.split(), version)

    def value(self, what, stages, version):
        arguments = ['-D', 'cpu', '-q', '--work', 'f64', '--out-type', 'u8' if 'range' in what else 'f64', *stages]
        for path, output in (('values.npy', 'values.out.npy'), ('scaled.nii', 'filtered.nii'), ('scaled.nii', 'filtered.mha'),
                             ('filtered.mha', 'again.mha')):
            again = output == 'again.mha'
            run = subprocess.run([self.voxfilt, *(arguments if not again else ['-q', '-f', 'identity']), '-i', path, '-o', output],
                                 stderr=subprocess.PIPE, text=True, check=False)
            if run.returncode != 0:
                print(what + ':', run.stderr, end='')
                self.wrong += 1
                return
        expected = numpy.load('values.out.npy')
        self.near('nibabel', what, expected, numpy.asarray(nibabel.load('filtered.nii').dataobj).T)
        if itk:
            if version == 1:
                self.near('itk', what, expected, itk_reads('filtered.nii'))
            for path in ('filtered.mha', 'again.mha'):
                told = fields_of_meta(path)
                self.near('itk', what + ' in ' + path, expected, itk_reads(path) * float(told.get(INTENSITY + 'Slope', 1)) +
                          float(told.get(INTENSITY + 'Offset', 0)))

    def near(self, reader, what, expected, found):
        near = found.shape == expected.shape and abs(found - expected.astype('f8')).max() <= 2e-7 * max(1, abs(expected).max())
        self.compare(reader, what, expected, expected if near else None)

    def units(self):
        """Distances in any unit, which become millimetres in formats that mean these."""
        if not (tifffile and itk and nibabel):
            return
        samples = numpy.zeros((3, 4, 5), 'u2')
        inch, centimetre = 25.4 / 96, 10 / 40
        for what, options, expected in (
                ('inches', {'resolution': (96, 96), 'resolutionunit': 2, 'metadata': None}, (inch, inch, inch)),
                ('centimetres', {'resolution': (40, 40), 'resolutionunit': 3, 'metadata': None}, (centimetre,) * 3),
                ('microns of ImageJ', {'resolution': (4, 2), 'imagej': True, 'metadata': {'axes': 'ZYX', 'spacing': 3.5, 'unit': 'um'}},
                 (2.5e-4, 5e-4, 3.5e-3)),
                ('nanometres of OME', {'ome': True, 'metadata': {
                    'axes': 'ZYX', **{f'PhysicalSize{axis}{word}': value for axis, size in zip('XYZ', (100, 200, 300))
                                      for word, value in (('', size), ('Unit', 'nm'))}}}, (1e-4, 2e-4, 3e-4)),
                ('units of OME that differ', {'ome': True, 'metadata': {
                    'axes': 'ZYX', 'PhysicalSizeX': 500, 'PhysicalSizeXUnit': 'nm', 'PhysicalSizeY': 0.25, 'PhysicalSizeZ': 0.002,
                    'PhysicalSizeZUnit': 'mm'}}, (5e-4, 2.5e-4, 2e-3)),
                ('the unit that OME assumes', {'ome': True, 'metadata': {
                    'axes': 'ZYX', 'PhysicalSizeX': 0.5, 'PhysicalSizeY': 0.25, 'PhysicalSizeZ': 2}}, (5e-4, 2.5e-4, 2e-3))):
            tifffile.imwrite('units.tif', samples, photometric='minisblack', **options)
            for form in ('mha', 'nrrd', 'nii'):
                self.compare_spacing('units.tif', 'units.' + form, what, expected)
            if self.convert('units.tif', what, '-o', 'again.tif'):
                self.compare_spacing('again.tif', 'units.mha', what + ' again', expected)
        random = numpy.random.default_rng(7).integers(0, 2000, (5, 6)).astype('u2')
        tifffile.imwrite('dots.tif', random, resolution=(300, 300), resolutionunit=2, metadata=None)
        if self.convert('dots.tif', 'a gradient of 300 dpi', '-f', 'sobel:x', '--out-type', 'i32', '-o', 'dots.mha'):
            padded = numpy.pad(random.astype('i4'), 1, 'symmetric')
            across = padded[:, 2:] - padded[:, :-2]
            self.compare('itk', 'a derivative of 300 dpi', across[:-2] + 2 * across[1:-1] + across[2:], itk_reads('dots.mha'))
            self.compare_near('itk', '300 dpi', numpy.array((25.4 / 300,) * 2), numpy.array(itk.ReadImage('dots.mha').GetSpacing()))
        for unit, factor in (('mm', 1), ('micron', 1e-3), ('meter', 1000)):
            place = numpy.diag((2., 3., 4., 1.))
            place[:3, 3] = 10, 20, 30
            image = nibabel.Nifti1Image(numpy.zeros((5, 4, 3), 'i2'), place)
            image.header.set_xyzt_units(unit)
            nibabel.save(image, 'units.nii')
            self.compare_spacing('units.nii', 'units.mha', unit, (2 * factor, 3 * factor, 4 * factor))
            if self.convert('units.nii', unit, '--crop', '1:5,0:4,0:3', '-o', 'units.mha'):
                self.compare_near('itk', 'origin in ' + unit, numpy.array((-12., -20., 30.)) * factor,
                                  numpy.array(itk.ReadImage('units.mha').GetOrigin()))
            if self.convert('units.nii', unit, '-o', 'units.tif'):
                with tifffile.TiffFile('units.tif') as file:
                    told = file.imagej_metadata
                    found = numpy.array([told['spacing']]) if told.get('unit') == 'mm' else None
                self.compare_near('tifffile', unit, numpy.array([4.0 * factor]), found)
        for unit, factor in (('mm', 1), ('um', 1e-3), ('nm', 1e-6), ('cm', 10), ('m', 1000), ('in', 25.4)) if nrrd else ():
            nrrd.write('units.nrrd', numpy.zeros((5, 4, 3), 'i2'), {
                'space': 'left-posterior-superior', 'space units': [unit] * 3, 'space origin': (10, 20, 30),
                'space directions': numpy.diag((2., 3., 4.))})
            for form in ('mha', 'nii'):
                self.compare_spacing('units.nrrd', 'units.' + form, f'{unit} of NRRD', (2 * factor, 3 * factor, 4 * factor))
                self.compare_near('itk', f'origin in {unit} of NRRD', numpy.array((10., 20., 30.)) * factor,
                                  numpy.array(itk.ReadImage('units.' + form).GetOrigin()))

        flat = nibabel.Nifti1Image(numpy.zeros((5, 4), 'i2'), numpy.diag((0.5, 0.25, 1, 1)))
        flat.header.set_xyzt_units('mm')
        nibabel.save(flat, 'flat.nii')
        if self.convert('flat.nii', 'a picture in mm', '-o', 'flat.tif'):
            with tifffile.TiffFile('flat.tif') as file:
                page = file.pages[0]
                found = numpy.array(page.get_resolution('millimeter')) if page.resolutionunit == 3 else None
            self.compare_near('tifffile', 'a picture in mm', numpy.array((2., 4.)), found)

    def compare_spacing(self, path, converted, what, expected):
        if self.convert(path, what, '-o', converted):
            found = itk.ReadImage(converted).GetSpacing()
            self.compare_near('itk', f'{what} in {converted}', numpy.array(expected, 'f8'), numpy.array(found))

    def compare_near(self, reader, what, expected, found):
        near = found is not None and numpy.allclose(expected, found, rtol=1e-6, atol=0)
        self.compare(reader, what, expected, expected if near else None)

    def compare_places(self, reader, what, expected, found):
        near = found is not None and numpy.allclose(expected, found, atol=1e-4)
        self.compare(reader, what, expected, expected if near else None)


def shifted(samples, axis, step):
    """Neighbours along an axis, reflected at its ends."""
    index = numpy.clip(numpy.arange(samples.shape[axis]) + step, 0, samples.shape[axis] - 1)
    return samples.take(index, axis)


def boxed(samples):
    for axis in range(3):
        samples = (shifted(samples, axis, -1) + samples + shifted(samples, axis, 1)) / 3
    return samples


def unpacked(samples):
    """Colours of NIfTI are records for nibabel."""
    if samples.dtype.names is None:
        return samples
    return numpy.stack([samples[name] for name in samples.dtype.names], -1)


def read_all(read, path):
    """All axes in the order of the file, slowest first."""
    if read is nibabel_reads:
        return numpy.asarray(nibabel.load(path).dataobj).T
    return nrrd.read(path)[0].T if read is nrrd_reads else read(path)


# ITK does not apply them.
INTENSITY = 'ElementToIntensityFunction'

SEVEN = '-f seven:.25,.1,.1,.1,.1,.1,.1'
VALUE_STAGES = (
    '-f identity', '-f gauss:1', '-f laplace', '-f star:4', '-f sobel:x', '-f gradient', '-f gradient -e hold',
    '-f gauss:1,order=0,1,0', '-f log:1', '-f dog:1,2 -e constant:30', '-f gradmag:1', '-f bilateral:1,300',
    '-f median:1', '-f min:1 -e constant:30', '-f tophat:1', '-f morphgrad:1 -e constant:30', '-f blackhat:1,ball -e hold', '-f max:2,ball -e hold', '-f percentile:1,20', '-f bilateral:1,300 -e constant:-700',
    '-f gradient -s 2 -e constant:-900', '-f sharpen -e constant:30', '-f unsharp:1,2 -e constant:5', '-f laplace -e hold',
    '-f scale:2,7', '-f scale:2,7 -s 3', '-f scale:0.5,7 --until 20', SEVEN, SEVEN + ' -s 3', SEVEN + ' -e constant:-700',
    SEVEN + ' -s 3 -e constant:-700', SEVEN + ' -s 3 -e hold', SEVEN + ' --until 50', '-f seven:9,1,1,1,1,1,1 -s 60',
    '-e constant:-1000', '-e constant', '-f heat --flux pm2 --scale 300', '-f heat --flux pm1 --scale 300 -e constant:33',
    '-f heat --flux tanh --scale 100', '-f heat --until 100',
    '-f laplace -e constant:-700 -f gradient -f scale:3,1 -f gauss:1 -e constant:9', '-f scale:3,1 ' + SEVEN + ' -e hold -s 2 -f scale:1,5',
    '-f clamp:-100.5,700', '-f gauss:1 -f clamp:-400,90 -f laplace', '-f abs', '-f abs -f gauss:1 -s 2', '-f abs --until 1',
    '-f threshold:99.9', '-f threshold:100,-3,700 -s 2', '-f gauss:1 -f threshold:300,2.5,0 -f box:1', '-f power:2 -f gauss:1',
    '-f scale:1,9000 -f ln -f gauss:1 -f exp', '-f scale:1e-3,0 -f exp',
    '-f identity --out-range=-1024,3000', '-f identity --out-range=auto')


def fields_of_meta(path):
    with open(path, 'rb') as file:
        lines = file.read().split(b'ElementDataFile')[0].decode().splitlines()
    return dict(line.split(' = ', 1) for line in lines)


def itk_place(path):
    image = itk.ReadImage(path)
    place = numpy.eye(4)
    place[:3, :3] = numpy.reshape(image.GetDirection(), (3, 3)) @ numpy.diag(image.GetSpacing())
    place[:3, 3] = image.GetOrigin()
    return numpy.diag((-1, -1, 1, 1)) @ place


def check(voxfilt):
    trips = Trips(voxfilt)
    for (kind, code), (order, mark) in itertools.product(TYPES.items(), ORDERS.items()):
        samples = (numpy.random.default_rng(7).random((4, 5, 6)) * 100).astype(mark + code)
        trips.write(samples, kind, order)
        trips.read(samples, kind, order)
    trips.channels()
    trips.alphas()
    trips.series()
    trips.rods()
    trips.wide()
    trips.pictures()
    trips.positions()
    trips.values()
    trips.units()
    print(', '.join('%d files read by %s' % (count, name) for name, count in sorted(trips.counts.items()) if count))
    return 1 if trips.wrong else 0


if __name__ == '__main__':
    missing = [name for name, found in zip(NAMES, readers) if found is None]
    if missing and os.environ.get('REQUIRE_READERS'):
        sys.exit('REQUIRE_READERS is set, and there is no ' + ', '.join(missing))
    sys.exit(77 if numpy is None else check(sys.argv[1]))
