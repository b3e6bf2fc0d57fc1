#!/usr/bin/env python3
"""TIFF hyperstacks of others, read and written again: in every order of axes, as ImageJ, OME and tifffile describe them.

Usage: hyperstacks.py VOXFILT, in a folder of its own. Needs NumPy and tifffile; codes that imagecodecs would bring are left
out without it. VOXFILT_HYPERSTACKS is the number of random ones (30). Prints how many files were read; exits with 1 if one
was read or written differently."""
import itertools
import json
import os
import re
import subprocess
import sys

import numpy
import tifffile

TRIALS = int(os.environ.get('VOXFILT_HYPERSTACKS', 30)) // int(os.environ.get('VOXFILT_THIN', 1)) + 1
OME_TYPES = ('u1', 'i1', 'u2', 'i2', 'u4', 'i4', 'f4', 'f8')
IMAGEJ_TYPES = ('u1', 'u2', 'f4')
ALL_TYPES = (*OME_TYPES, 'u8', 'i8', 'f2')
random = numpy.random.default_rng(11)


class Trial:
    """What is tried, and how often it went well."""

    def __init__(self, voxfilt):
        self.voxfilt = voxfilt
        self.tried = self.failed = 0

    def run(self, *arguments):
        return subprocess.run([self.voxfilt, '-D', 'cpu', '-j', '1', '-q', *arguments], capture_output=True, text=True, check=False)

    def result(self, right, *what):
        self.tried += 1
        if not right:
            self.failed += 1
            print('wrong:', *what)
        return right

    def reads(self, path, samples, *what):
        """The volumes of a file one after the other, and each of them filtered alone."""
        done = self.run('-f', 'identity', '-i', path, '-o', 'back.raw', '--out-endian', 'little')
        found = numpy.fromfile('back.raw', samples.dtype.newbyteorder('<')) if done.returncode == 0 else numpy.zeros(0)
        return self.result(found.size == samples.size and (found == samples.ravel()).all(), *what, done.stderr.strip())

    def keeps(self, path, *what, options=()):
        """An output has the axes and samples of its input, in its own order of bytes and with or without a code."""
        done = self.run('-f', 'identity', '-i', path, '-o', 'back.tif', *options)
        if not self.result(done.returncode == 0, *what, done.stderr.strip()):
            return
        with tifffile.TiffFile(path) as theirs, tifffile.TiffFile('back.tif') as ours:
            before, after = theirs.series[0], ours.series[0]
            axes = before.axes
            expected, found = before.asarray(), after.asarray()
            if axes.endswith('SYX'):
                axes, expected = axes[:-3] + 'YXS', numpy.moveaxis(expected, -3, -1)
            self.result(after.axes == axes and found.shape == expected.shape and (found == expected).all(), *what, options,
                        'is written', before.axes, before.shape, after.axes, after.shape)
            # A volume of tifffile is told in ImageJ's words, which have the distance between slices.
            same = [key for key in ('is_imagej', 'is_ome', 'is_shaped')
                    if getattr(theirs, key) != getattr(ours, key) and axes.strip('S') != 'ZYX']
            self.result(not same, *what, options, 'described otherwise', same)

    def keeps_colours(self, path):
        """A palette becomes RGB in the output."""
        self.run('-f', 'identity', '-i', path, '-o', 'back.tif')
        with tifffile.TiffFile('back.tif') as file, tifffile.TiffFile(path) as theirs:
            axes = theirs.series[0].axes if theirs.is_shaped or theirs.is_ome else 'ZYX'
            self.result(file.pages[0].photometric == 2 and file.series[0].axes == axes + 'S', path, 'as RGB')

    def refused(self, path, words, *what, status=3):
        done = self.run('-f', 'identity', '-i', path, '-o', 'none.raw')
        self.result(done.returncode == status and words in done.stderr and done.stderr.count('\n') == 1 and
                    not os.path.exists('none.raw'), *what, 'is not refused:', done.returncode, done.stderr.strip())


def in_order(samples, axes):
    """Volumes as a series has them: in the order of pages, slices together, and channels of a page last."""
    axes = list(axes)
    if 'S' in axes:
        samples = numpy.moveaxis(samples, axes.index('S'), -1)
        axes.remove('S')
        axes.append('S')
    if 'Z' in axes:
        to = axes.index('Y') - 1
        samples = numpy.moveaxis(samples, axes.index('Z'), to)
    return numpy.ascontiguousarray(samples)


def some(shape, code):
    samples = random.random(shape) * 200
    return (samples - 100 if code[0] in 'if' else samples).astype(code)


def draw_axes(letters, least=0):
    """Some of the letters in any order, and an extent for each."""
    count = random.integers(least, len(letters) + 1)
    axes = ''.join(random.permutation(list(letters))[:count])
    return axes, tuple(int(random.integers(2, 6)) for _ in axes)


def draw_code():
    return [None, 'zlib', 'lzw', 'packbits', 'zstd'][random.integers(5)]


def write(path, samples, **options):
    """With a code, or without if tifffile lacks it."""
    for code in (options.pop('compression', None), None):
        try:
            tifffile.imwrite(path, samples, compression=code, **options)
            return
        except (ImportError, ValueError, KeyError):
            if code is None:
                raise


def draw_hyperstack(trial):
    """A random file and its samples in the order of a series."""
    kind = ('imagej', 'ome', 'shaped')[trial % 3]
    types = {'imagej': IMAGEJ_TYPES, 'ome': OME_TYPES, 'shaped': ALL_TYPES}[kind]
    axes, extents = draw_axes('TZC' if kind != 'shaped' else 'TZCQP', 1)
    if kind == 'imagej':
        axes, extents = zip(*sorted(zip(axes, extents), key=lambda axis: 'TZC'.index(axis[0])))
        axes = ''.join(axes)
    code = types[random.integers(len(types))]
    colour = code in ('u1', 'u2') and kind != 'imagej' and random.random() < 0.3
    within = (int(random.integers(1, 20)), int(random.integers(5, 40)))
    samples = some((*extents, *within, *((3,) if colour else ())), code)
    axes += 'YXS' if colour else 'YX'
    options = {'photometric': 'rgb' if colour else 'minisblack', 'compression': draw_code(), 'byteorder': '<>'[random.integers(2)],
               'metadata': {'axes': axes}}
    if kind == 'imagej':
        options.update(imagej=True, compression=None)
    elif kind == 'ome':
        options['ome'] = True
    else:
        # Of axes without a name the fastest is z, unless there is one.
        if 'Z' not in axes:
            named = [letter for letter in axes if letter in 'QP']
            axes = axes.replace(named[-1], 'Z') if named else axes
    path = {'imagej': 'theirs.tif', 'ome': 'theirs.ome.tif', 'shaped': 'theirs.tif'}[kind]
    write(path, samples, **options)
    return path, in_order(samples, axes), (kind, axes, samples.shape, code, options['compression'], options['byteorder'])


def stored(trial):
    """Samples that stand in files otherwise than they are given: planar, of one bit, with white as zero, by a palette, as JPEG."""
    colours = random.integers(0, 65536, (3, 256)).astype('u2')
    for code, layout in itertools.product((None, 'zlib', 'packbits', 'jpeg'), ({}, {'rowsperstrip': 16}, {'tile': (16, 32)})):
        for kind in ('u1', 'u2', 'f4'):
            samples = some((2, 3, 40, 53), kind)
            what = code, layout, kind
            options = {'compression': code, 'metadata': None, **layout}
            if code != 'jpeg' or kind == 'u1':
                write('planar.tif', samples, photometric='rgb', planarconfig='separate', **options)
                trial.reads('planar.tif', numpy.moveaxis(tifffile.imread('planar.tif'), 1, -1), 'planar', *what)
            if code == 'jpeg':
                if kind == 'u1':
                    write('colour.tif', numpy.moveaxis(numpy.cumsum(samples, 2).astype('u1'), 1, -1), photometric='rgb', **options)
                    trial.reads('colour.tif', tifffile.imread('colour.tif'), 'JPEG', *what)
                continue
            if kind[0] == 'u':
                write('white.tif', samples[0], photometric='miniswhite', **options)
                trial.reads('white.tif', numpy.iinfo(kind).max - samples[0], 'white is zero', *what)
            if kind == 'u1':
                write('palette.tif', samples[0], photometric='palette', colormap=colours, **options)
                trial.reads('palette.tif', numpy.moveaxis((colours >> 8).astype('u1')[:, samples[0]], 0, -1), 'palette', *what)
                trial.keeps_colours('palette.tif')
            if kind == 'f4' and 'tile' not in layout:
                bits = samples[0] > 100
                for white in ('minisblack', 'miniswhite'):
                    write('bits.tif', bits, photometric=white, **options)
                    trial.reads('bits.tif', (bits ^ (white == 'miniswhite')).astype('u1'), white, *what)
    samples = some((2, 3, 8, 9), 'u1')
    for path, options in (('palette.tif', {}), ('palette.ome.tif', {'ome': True})):
        tifffile.imwrite(path, samples, photometric='palette', colormap=colours, metadata={'axes': 'TCYX'}, **options)
        expected = numpy.moveaxis((colours >> 8).astype('u1')[:, samples], 0, -1)
        trial.reads(path, expected, 'a palette', path)
        trial.keeps_colours(path)
        trial.reads('back.tif', expected, 'a palette is written', path)
    # The letter of planar samples may be any, but samples come last in an output.
    tifffile.imwrite('letters.tif', some((5, 3, 8, 9), 'u2'), photometric='rgb', planarconfig='separate', metadata={'axes': 'QZYX'})
    trial.result(trial.run('-f', 'identity', '-i', 'letters.tif', '-o', 'back.tif').returncode == 0 and
                 tifffile.TiffFile('back.tif').series[0].axes == 'QYXS', 'the letter of planar samples')
    tifffile.imwrite('cmyk.tif', some((8, 9, 4), 'u1'), photometric='separated', metadata=None)
    trial.refused('cmyk.tif', 'CMYK, which is not supported', 'CMYK')
    tifffile.imwrite('float.tif', some((8, 9), 'f4'), photometric='miniswhite', metadata=None)
    trial.refused('float.tif', '0: white is zero', 'white of floating point')


def notes(trial, *arguments):
    """What a run says."""
    return subprocess.run([trial.voxfilt, '-D', 'cpu', '-j', '1', *arguments], capture_output=True, text=True, check=False).stderr


def imagej(trial):
    """Words and metadata of ImageJ stay where they still hold."""
    samples = some((3, 4, 2, 9, 8), 'u2')
    luts = [numpy.arange(256, dtype='u1')[None] * numpy.array(colour, 'u1')[:, None] for colour in ((1, 0, 0), (0, 1, 0))]
    told = {'axes': 'TZCYX', 'unit': 'um', 'spacing': 2.5, 'finterval': 0.5, 'mode': 'composite', 'min': 1.0, 'max': 90.0, 'LUTs': luts,
            'Ranges': (0.0, 99.0, 5.0, 80.0), 'Labels': ['page %d' % page for page in range(24)], 'mine': 3}
    for order in '<>':
        tifffile.imwrite('theirs.tif', samples, imagej=True, metadata=told, resolution=(4, 4), byteorder=order)
        for options, kept, lost in (
                (('identity',), {'finterval', 'mode', 'min', 'max', 'LUTs', 'Ranges', 'Labels', 'unit', 'spacing'}, 'mine'),
                (('gauss:1',), {'finterval', 'mode', 'LUTs', 'Ranges', 'Labels', 'unit', 'spacing'}, 'min, max, mine'),
                (('gradient',), {'finterval', 'mode', 'unit', 'spacing'}, 'min, max, mine, metadata of ImageJ'),
                (('identity', '--crop', '1:,:'), {'finterval', 'mode', 'unit', 'spacing'}, 'min, max, mine, metadata of ImageJ'),
                (('identity', '--volume', '1'), {'mode', 'unit', 'spacing'}, 'min, max, finterval, mine, metadata of ImageJ')):
            said = notes(trial, '-i', 'theirs.tif', '-o', 'back.tif', '-f', *options)
            with tifffile.TiffFile('theirs.tif') as theirs, tifffile.TiffFile('back.tif') as ours:
                before, after = theirs.imagej_metadata, ours.imagej_metadata
                same = {key for key in before if key in after and numpy.array_equal(before[key], after[key])}
                trial.result(same >= kept and not set(after) & (set(before) - kept - {
                    'ImageJ', 'images', 'channels', 'slices', 'frames', 'hyperstack', 'loop'}), 'ImageJ', options, kept - same, set(after))
                trial.result(after['spacing'] == 2.5 and ours.pages[0].tags[282].value[0] / ours.pages[0].tags[282].value[1] == 4.0,
                             'ImageJ', options, 'spacing')
            words = said.split('left out: ')[-1].strip().split(', ')
            trial.result(sorted(words) == sorted(lost.split(', ')), 'ImageJ', options, said)
    said = notes(trial, '-i', 'theirs.tif', '-f', 'identity', '-o', 'back.ome.tif')
    trial.result('finterval, min, max, mine, metadata of ImageJ\n' in said, 'ImageJ into OME', said)
    tifffile.imwrite('theirs.tif', samples[:, :, 0], metadata={'axes': 'QZYX'})
    for name, lost in (('back.ome.tif', True), ('back.tif', False)):
        said = notes(trial, '-i', 'theirs.tif', '-f', 'identity', '-o', name)
        trial.result(('axes' in said) == lost, 'letters of tifffile', name, said)
    trial.result('--resolution: the file has the full one alone' in notes(trial, '-i', 'theirs.tif', '--resolution', '1', '-o', 'none.raw'),
                 'no pyramid')


def ome(trial):
    """OME's description with what has changed."""
    samples = some((3, 2, 4, 9, 8), 'u2')
    told = {'axes': 'TCZYX', 'PhysicalSizeX': 0.25, 'PhysicalSizeXUnit': 'µm', 'PhysicalSizeY': 0.25, 'PhysicalSizeYUnit': 'µm',
            'PhysicalSizeZ': 2, 'PhysicalSizeZUnit': 'µm', 'SignificantBits': 12, 'Channel': {'Name': ['red', 'green'], 'Color': [-16776961, 16711935]},
            'Plane': {'PositionX': [0.5] * 24, 'PositionXUnit': ['mm'] * 24}}
    tifffile.imwrite('theirs.ome.tif', samples, photometric='minisblack', metadata=told, ome=True)
    for options, changes, gone, lost in (
            (('identity',), {}, (), ''),
            (('identity', '--out-endian', 'big'), {'BigEndian': 'true'}, (), ''),
            (('gauss:1', '--out-type', 'f32'), {'Type': 'float'}, ('SignificantBits',), 'SignificantBits'),
            (('identity', '--crop', '1:5,2:,1:'), {'SizeX': '4', 'SizeY': '7', 'SizeZ': '3'}, ('SignificantBits', 'PositionX'),
             'SignificantBits, Plane'),
            (('identity', '--spacing', '1,2,3'), {'PhysicalSizeX': '1', 'PhysicalSizeY': '2', 'PhysicalSizeZ': '3'}, (), ''),
            (('identity', '--volume', '3'), {'SizeC': '1', 'SizeT': '1'}, ('red', 'PositionX', 'SignificantBits'),
             'SignificantBits, Plane')):
        said = notes(trial, '-i', 'theirs.ome.tif', '-o', 'back.ome.tif', '-f', *options)
        with tifffile.TiffFile('theirs.ome.tif') as theirs, tifffile.TiffFile('back.ome.tif') as ours:
            before, after = theirs.pages[0].description, ours.pages[0].description
            expected = dict(re.findall(r'(\w+)="([^"]*)"', re.search('<Pixels[^>]*>', before)[0]), BigEndian='false')
            expected.update(changes)
            expected = {key: value for key, value in expected.items() if key not in gone and key != 'Interleaved'}
            found = dict(re.findall(r'(\w+)="([^"]*)"', re.search('<Pixels[^>]*>', after)[0]))
            trial.result(found == expected, 'OME', options, found, expected)
            trial.result(not any(word in after for word in (*gone, 'UUID')) and 'Name="green"' in after and
                         after.count('<TiffData') == 1, 'OME', options, after)
        words = said.split('left out: ')[-1].strip().split(', ') if 'left out' in said else []
        trial.result(sorted(words) == sorted(lost.split(', ') if lost else []), 'OME', options, said)
    describe('theirs.ome.tif', lambda text: text.replace('</Image>', '<ROIRef ID="ROI:0"/></Image><ROI ID="ROI:0"/>'))
    said = notes(trial, '-i', 'other.tif', '-o', 'of%d.tif', '-f', 'identity', '--volume', '0')
    trial.result('Plane, ROIRef, ROI\n' in said and 'ImageDescription' not in said, 'files of a stack', said)


def pyramid(trial):
    """The full resolution, or a smaller one on demand."""
    samples = some((2, 3, 32, 48), 'u2')
    with tifffile.TiffWriter('pyramid.ome.tif', ome=True) as file:
        options = {'photometric': 'minisblack', 'tile': (16, 16), 'compression': None}
        file.write(samples, subifds=2, metadata={'axes': 'TZYX', 'PhysicalSizeX': 0.35, 'PhysicalSizeY': 0.35}, **options)
        file.write(samples[..., ::2, ::2], subfiletype=1, **options)
        file.write(samples[..., ::4, ::4], subfiletype=1, **options)
    trial.reads('pyramid.ome.tif', samples, 'a pyramid')
    trial.result('2 smaller resolutions left out (--resolution)' in notes(trial, '-i', 'pyramid.ome.tif', '-f', 'identity', '-o', 'back.raw'),
                 'a note of a pyramid')
    for level in (0, 1, 2):
        done = trial.run('-i', 'pyramid.ome.tif', '-f', 'identity', '--resolution', str(level), '-o', 'back.ome.tif')
        small = samples[..., ::1 << level, ::1 << level]
        trial.result(done.returncode == 0 and (tifffile.imread('back.ome.tif') == small).all(), 'resolution', level, done.stderr)
        with tifffile.TiffFile('back.ome.tif') as file:
            text = file.pages[0].description
            trial.result('PhysicalSizeX="%g"' % (0.35 * (1 << level)) in text and 'PhysicalSizeZ' not in text, 'resolution', level, text)
    for path, words in (('pyramid.ome.tif', '--resolution: 3: the last one is 2'), ('back.raw', '--resolution: the format raw has the full one alone')):
        done = trial.run('-i', path, '-d', '2', '-f', 'identity', '--resolution', '3') if path == 'back.raw' else \
            trial.run('-i', path, '-f', 'identity', '--resolution', '3', '-o', 'none.raw')
        trial.result(done.returncode == 2 and words in done.stderr, words, done.stderr)


def hyperstacks(trial):
    for number in range(TRIALS):
        path, samples, what = draw_hyperstack(number)
        if trial.reads(path, samples, *what):
            trial.keeps(path, *what, options=(('--level', '1'), ('--out-endian', 'big'), ())[random.integers(3)])


def orders(trial):
    """Every order of axes in each kind of description, and volumes that are filtered alone."""
    samples = some((3, 2, 5, 7, 8), 'u2')
    tifffile.imwrite('theirs.tif', samples, photometric='minisblack', metadata={'axes': 'TCZYX', 'limit': float('nan')})
    trial.reads('theirs.tif', in_order(samples, 'TCZYX'), 'a number that JSON has not')
    for letters in itertools.permutations('TZC'):
        axes = ''.join(letters) + 'YX'
        samples = some((5, 2, 6, 7, 8), 'u2')
        for path, options in (('theirs.tif', {}), ('theirs.ome.tif', {'ome': True})):
            tifffile.imwrite(path, samples, photometric='minisblack', metadata={'axes': axes}, **options)
            series = in_order(samples, axes)
            trial.reads(path, series, axes, options)
            trial.keeps(path, axes, options)
            volumes = series.reshape(-1, *series.shape[-3:])
            number = int(random.integers(len(volumes)))
            volumes[number].tofile('volume.raw')
            trial.run('-i', 'volume.raw', '-d', '8,7,%d' % volumes.shape[1], '-t', 'u16', '-f', 'gauss:1', '-o', 'expected.raw')
            for choice in ((), ('--volume', str(number))):
                trial.run('-i', path, '-f', 'gauss:1', '-o', 'filtered.raw', *choice)
                size = os.path.getsize('expected.raw')
                with open('expected.raw', 'rb') as expected, open('filtered.raw', 'rb') as found:
                    found.seek(0 if choice else number * size)
                    trial.result(found.read(size) == expected.read(), axes, options, choice, 'filtered')


def describe(path, change):
    """A file with another description."""
    with tifffile.TiffFile(path) as file:
        text = file.pages[0].description
        samples = file.asarray(key=slice(None))
        order = file.byteorder
    tifffile.imwrite('other.tif', samples.reshape(-1, *samples.shape[-2:]), photometric='minisblack', metadata=None,
                     description=change(text).encode(), byteorder=order)


def placed(trial):
    """TiffData in any legal order: runs of any length, pages anywhere."""
    for number, order in enumerate(itertools.permutations('TZC')):
        axes = ''.join(order) + 'YX'
        extents = tuple(int(random.integers(1, 4)) for _ in order)
        samples = some((*extents, 5, 6), 'u2')
        tifffile.imwrite('theirs.ome.tif', samples, photometric='minisblack', metadata={'axes': axes}, ome=True)
        count = int(numpy.prod(extents))
        pages = random.permutation(count)
        runs = [f'<TiffData IFD="{pages[place]}" PlaneCount="1" ' + ' '.join(
            f'First{letter}="{index}"' for letter, index in zip(order, numpy.unravel_index(place, extents))) + '/>'
                for place in random.permutation(count)]
        shuffled = samples.reshape(count, 5, 6)[numpy.argsort(pages)] if number % 2 else samples.reshape(count, 5, 6)
        with tifffile.TiffFile('theirs.ome.tif') as file:
            text = file.pages[0].description
        text = re.sub('<TiffData.*</TiffData>|<TiffData[^>]*/>', ''.join(runs), text)
        tifffile.imwrite('placed.ome.tif', shuffled, photometric='minisblack', metadata=None, description=text.encode())
        expected = tifffile.imread('placed.ome.tif')
        with tifffile.TiffFile('placed.ome.tif') as file:
            expected = in_order(file.series[0].asarray(), file.series[0].axes)
        trial.reads('placed.ome.tif', expected, 'TiffData', axes, extents)
        trial.keeps('placed.ome.tif', 'TiffData', axes, extents)


def images(trial):
    """Of several Images the first is read, or the one that has the volume."""
    with tifffile.TiffWriter('images.ome.tif', ome=True) as file:
        several = [some(shape, 'u2') for shape in ((3, 2, 5, 6), (4, 7, 8), (2, 9, 4))]
        for samples, axes in zip(several, ('TZYX', 'ZYX', 'CYX')):
            file.write(samples, photometric='minisblack', metadata={'axes': axes})
    trial.reads('images.ome.tif', several[0], 'the first of several Images')
    for number, words in ((), 'a series of 3 (T 3)'), (('--volume', '5'), 'volume 1 of 2 (C 2)'), (('--volume', '3'), '8 x 7 x 4, 1 channel, spacing'):
        told = trial.run('-i', 'images.ome.tif', '--explain', *number).stdout
        trial.result(words in told, words, told)
    tifffile.imwrite('theirs.tif', some((2, 4, 3, 5, 6), 'u2'), imagej=True, metadata={'axes': 'TZCYX'})
    trial.result('a series of 6 (C 3, T 2)' in trial.run('-i', 'theirs.tif', '--explain').stdout, 'the axes of a series')
    for number, (letters, axes) in enumerate((('TZCYX', 'tczyx'), ('CZYX', 'czyx'), ('CTZYX', 'tzyx'), ('TZYX', 'tzyx'), ('TZYXS', 'tczyx'))):
        photometric = 'rgb' if letters[-1] == 'S' else 'minisblack'
        extents = [{'T': 2, 'C': 4, 'S': 3}.get(letter, 5) for letter in letters]
        tifffile.imwrite('theirs.ome.tif', some(extents, 'u2'), metadata={'axes': letters, 'PhysicalSizeX': 0.5, 'PhysicalSizeXUnit': 'µm'}, photometric=photometric)
        trial.run('-i', 'theirs.ome.tif', '-f', 'identity', '-o', f'{number}.zarr')
        with open(f'{number}.zarr/zarr.json', encoding='utf8') as text:
            image = json.load(text)['attributes']['ome']['multiscales'][0]
        trial.result([axis['name'] for axis in image['axes']] == list(axes), 'axes of Zarr', letters, image['axes'])
        trial.result(all(axis.get('unit', 'micrometer') == 'micrometer' for axis in image['axes']), 'units of Zarr', image['axes'])
        if letters in ('TZCYX', 'CZYX', 'TZYX'):
            image['axes'][0]['unit'] = 'second'
            with open(f'{number}.zarr/zarr.json', 'w', encoding='utf8') as text:
                json.dump({'zarr_format': 3, 'node_type': 'group', 'attributes': {'ome': {'version': '0.5', 'multiscales': [image]}}}, text)
            for back in ('back.ome.tif', 'back.tif'):
                said = notes(trial, '-i', f'{number}.zarr', '-f', 'identity', '-o', back)
                with tifffile.TiffFile(back) as file, tifffile.TiffFile('theirs.ome.tif') as wanted:
                    same = in_order(file.series[0].asarray(), file.series[0].axes)
                    trial.result(numpy.array_equal(same, in_order(wanted.series[0].asarray(), wanted.series[0].axes)) and
                                 'axes' not in said and ('frame interval' in said) == ('T' in letters), back, 'of', letters, file.series[0].axes, said)
    volumes = [*several[0], several[1], *several[2]]
    for number, samples in enumerate(volumes):
        done = trial.run('-f', 'identity', '-i', 'images.ome.tif', '--volume', str(number), '-o', 'back.raw')
        found = numpy.fromfile('back.raw', 'u2') if done.returncode == 0 else numpy.zeros(0)
        trial.result(found.size == samples.size and (found == samples.ravel()).all(), 'volume', number, 'of several Images',
                     done.stderr)
        done = trial.run('-f', 'identity', '-i', 'images.ome.tif', '--volume', str(number), '-o', 'back.ome.tif')
        trial.result((tifffile.imread('back.ome.tif') == samples).all(), 'volume', number, 'is written')
    trial.result('the last one is 5' in trial.run('-i', 'images.ome.tif', '--volume', '6').stderr, 'no such volume')


def ours(trial):
    """Series of other formats, as ImageJ and OME have them."""
    for number, code in enumerate(OME_TYPES):
        axes, extents = draw_axes('TZ', 2)
        samples = some((*sorted(extents), 6, 7), code)
        numpy.save('ours.npy', samples)
        for path in ('ours.tif', 'ours.ome.tif'):
            done = trial.run('-f', 'identity', '-i', 'ours.npy', '-o', path, *(('--level', '1') if number % 2 else ()))
            if not trial.result(done.returncode == 0, path, code, done.stderr):
                continue
            with tifffile.TiffFile(path) as file:
                series = file.series[0]
                trial.result(series.axes == 'TZYX' and (series.asarray() == samples).all(), path, series.axes, code)
            trial.reads(path, samples, path, code)
    numpy.save('ours.npy', some((2, 3, 4, 5), 'u8'))
    trial.refused_name = trial.run('-f', 'identity', '-i', 'ours.npy', '-o', 'none.ome.tif')
    trial.result(trial.refused_name.returncode == 2 and 'OME-TIFF has no samples of type u64' in trial.refused_name.stderr,
                 'a type that OME lacks')


def damaged(trial):
    """Descriptions that do not go together with the pages, or mean other files."""
    samples = some((2, 3, 4, 5, 6), 'u2')
    tifffile.imwrite('theirs.ome.tif', samples, photometric='minisblack', metadata={'axes': 'TZCYX'}, ome=True)
    uuid = '<UUID FileName="%s">urn:uuid:%s</UUID>'
    for change, words in (
            (lambda text: text.replace('SizeT="2"', 'SizeT="3"'), 'no page for Z=0 C=0 T=2'),
            (lambda text: text.replace('SizeT="2"', 'SizeT="9999999999999"'), 'pages, more than the file holds'),
            (lambda text: text.replace('SizeT="2"', 'SizeT="9223372036854775807"'), 'no number of pages'),
            (lambda text: text.replace('SizeZ="3"', 'SizeZ="2"'), 'outside the volume'),
            (lambda text: text.replace('XYCZT', 'XYCCT'), 'DimensionOrder'),
            (lambda text: text.replace('Pixels', 'Pixel'), 'Image: without Pixels'),
            (lambda text: text.replace('SizeT="2"', 'SizeT="2'), 'no end'),
            (lambda text: text[:text.index('<TiffData')], 'no end'),
            (lambda text: text.replace('<OME', '<!DOCTYPE OME [<!ENTITY a "b">]><OME', 1), 'a DTD'),
            (lambda text: re.sub('<TiffData[^>]*/?>', '<TiffData IFD="0" PlaneCount="24">' + uuid % ('a.tif', 1) +
                                 '</TiffData><TiffData IFD="0" FirstT="1">' + uuid % ('b.tif', 2), text),
             'TiffData: pages in another file, a.tif')):
        describe('theirs.ome.tif', change)
        trial.refused('other.tif', words, words)
    tifffile.imwrite('theirs.tif', samples, imagej=True, metadata={'axes': 'TZCYX'})
    for before, after in (('channels=4', 'channels=3'), ('frames=2', 'frames=0'), ('slices=3', 'slices=99999999999999999999')):
        describe('theirs.tif', lambda text, before=before, after=after: text.replace(before, after))
        trial.refused('other.tif', 'but 24 pages' if 'slices' not in before else 'no number of pages', after)
    done = subprocess.run([trial.voxfilt, '-f', 'identity', '-i', 'theirs.tif', '--out-format', 'tif'], capture_output=True, check=False)
    trial.result(done.returncode == 2 and b'pages of several volumes in turn are not written in order' in done.stderr, 'a pipe', done.stderr)
    try:
        tifffile.imwrite('ended.tif', some((64, 64), 'u1'), photometric='minisblack', compression='jpeg', metadata=None)
    except (ImportError, ValueError, KeyError):
        return
    with tifffile.TiffFile('ended.tif') as file:
        middle = file.pages[0].dataoffsets[0] + file.pages[0].databytecounts[0] // 2
    with open('ended.tif', 'r+b') as file:
        file.seek(middle)
        file.write(b'\xff\xd9')
    trial.refused('ended.tif', 'remature end of', 'a JPEG that ends early')


def main(voxfilt):
    trial = Trial(voxfilt)
    for part in (orders, placed, images, ours, stored, imagej, ome, pyramid, damaged, hyperstacks):
        part(trial)
    print('%d checks of hyperstacks, %d failed' % (trial.tried, trial.failed))
    return 1 if trial.failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
