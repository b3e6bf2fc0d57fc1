#!/usr/bin/env python3
"""TIFF stacks of tifffile read by voxfilt, and stacks of voxfilt read by tifffile: types, byte orders, BigTIFF, codes,
predictors, strips and tiles, channels.

Usage: stacks.py VOXFILT, in a folder of its own. Codes that tifffile lacks are left out. Prints how many files were read;
exits with 1 if one was read differently."""
import itertools
import os
import struct
import subprocess
import sys

import numpy
import tifffile

TYPES = {'u8': 'u1', 'i8': 'i1', 'u16': 'u2', 'i16': 'i2', 'u32': 'u4', 'i32': 'i4', 'u64': 'u8', 'i64': 'i8',
         'f16': 'f2', 'f32': 'f4', 'f64': 'f8'}
CODES = ((None, None), ('lzw', None), ('lzw', True), ('deflate', None), ('deflate', True), ('packbits', None))
LAYOUTS = ({'rowsperstrip': 10}, {'tile': (16, 32)})
random = numpy.random.default_rng(7)


def some(cases):
    """All of them, or one in VOXFILT_THIN."""
    return (case for case in cases if random.random() * int(os.environ.get('VOXFILT_THIN', 1)) < 1)


def run(voxfilt, *arguments):
    return subprocess.run([voxfilt, '-D', 'cpu', '-q', '-f', 'identity', *arguments], capture_output=True, text=True,
                          check=False)


def reads(voxfilt, path, samples, *what):
    done = run(voxfilt, '-i', path, '-o', 'back.raw', '--out-endian', 'little')
    if done.returncode == 0:
        found = numpy.fromfile('back.raw', samples.dtype.newbyteorder('<'))
        if found.size == samples.size and (found.reshape(samples.shape) == samples).all():
            return True
    print('read differently by voxfilt:', *what, done.stderr.strip())
    return False


def write(path, samples, **options):
    try:
        tifffile.imwrite(path, samples, metadata={'axes': 'ZYX'} if samples.ndim == 3 else None, **options)
    except (ImportError, ValueError, KeyError):
        return False
    return True


def theirs(voxfilt):
    for code, order, big, (compression, predictor), layout, channels in some(itertools.product(
            TYPES.values(), '<>', (False, True), CODES, LAYOUTS, (1, 3))):
        shape = (3, 21, 40) + ((channels,) if channels > 1 else ())
        samples = (random.random(shape) * 100).astype(order + code)
        options = {'byteorder': order, 'bigtiff': big, 'compression': compression, 'predictor': predictor, **layout,
                   'photometric': 'rgb' if channels > 1 else 'minisblack'}
        if predictor and code in ('u8', 'i8') or not write('theirs.tif', samples, **options):
            continue
        yield reads(voxfilt, 'theirs.tif', samples, code, options)
    samples = random.random((5, 20, 30)).astype('f4')
    tifffile.imwrite('imagej.tif', samples, imagej=True, metadata={'axes': 'ZYX', 'spacing': 3.5})
    yield reads(voxfilt, 'imagej.tif', samples, 'ImageJ')


def entry_of(data, tag):
    """Where the entry of a tag stands in the first directory of a little-endian file."""
    at, = struct.unpack_from('<I', data, 4)
    count, = struct.unpack_from('<H', data, at)
    return next(place for place in range(at + 2, at + 2 + 12 * count, 12) if struct.unpack_from('<H', data, place)[0] == tag)


def damaged(voxfilt):
    """Tags that decide samples, with another type, count or value: where libtiff guesses, voxfilt refuses."""
    samples = random.integers(0, 255, (3, 21, 40)).astype('u1')
    deflated = {'compression': 'zlib', 'predictor': True, 'rowsperstrip': 10}
    for options, tag, place, form, value, words in (
            (deflated, 317, 4, '<I', 2, 'Predictor'), (deflated, 317, 2, '<H', 2, 'Predictor'),
            (deflated, 317, 2, '<H', 11, 'Predictor'), (deflated, 259, 8, '<H', 1, 'Byte'), (deflated, 259, 4, '<I', 3, 'Compression'),
            ({}, 279, 8, '<I', 2**31, 'StripByteCounts'), ({}, 279, 8, '<I', 841, 'StripByteCounts'),
            ({}, 279, 8, '<I', 0, 'StripByteCounts'), ({}, 279, 2, '<H', 2, 'StripByteCounts'),
            ({'planarconfig': 'contig'}, 284, 2, '<H', 2, 'PlanarConfiguration'),
            ({'planarconfig': 'contig'}, 284, 8, '<H', 3, 'PlanarConfiguration'),
            ({}, 277, 4, '<I', 2, 'SamplesPerPixel'), ({}, 257, 8, '<I', 20, 'ImageLength'),
            ({'rowsperstrip': 7}, 279, 4, '<I', 2, 'StripByteCounts')):
        tifffile.imwrite('damaged.tif', samples, photometric='minisblack', metadata=None, byteorder='<', **options)
        if not reads(voxfilt, 'damaged.tif', samples, options):
            yield False
        with open('damaged.tif', 'r+b') as file:
            data = bytearray(file.read())
            struct.pack_into(form, data, entry_of(data, tag) + place, value)
            file.seek(0)
            file.write(data)
        yield is_refused(voxfilt, 'damaged.tif', words)
    tifffile.imwrite('planes.tif', samples[0], photometric='minisblack', metadata=None, extratags=[(33629, 4, 3, (1, 2, 3), True)])
    yield is_refused(voxfilt, 'planes.tif', 'tag 33629: 3 planes of MetaMorph in one directory')
    # The only strip or tile is left out, as in sparse files.
    for options, tags, words in (({}, (273, 279), 'StripOffsets: 0: a strip is missing (sparse)'),
                                 ({'tile': (32, 48), 'compression': 'zlib'}, (324, 325), 'TileOffsets: 0: a tile is missing (sparse)')):
        tifffile.imwrite('sparse.tif', samples, photometric='minisblack', metadata=None, byteorder='<', **options)
        for tag in tags:
            poke('sparse.tif', tag, 0)
        yield is_refused(voxfilt, 'sparse.tif', words)


def poke(path, tag, value):
    """Gives an entry of the first directory another value."""
    with open(path, 'r+b') as file:
        data = bytearray(file.read())
        struct.pack_into('<H', data, entry_of(data, tag) + 8, value)
        file.seek(0)
        file.write(data)


def padded(voxfilt):
    """A last strip that holds more rows than the page has, as some programs write it; and no other may hold more."""
    samples = random.integers(0, 255, (1, 14, 40)).astype('u2')
    for (compression, predictor), width, words in itertools.product(
            (*CODES, ('zstd', None), ('zstd', True)), (40, 39), ('a strip holds more than its rows',)):
        options = {'compression': compression, 'predictor': predictor, 'byteorder': '<', 'rowsperstrip': 7, 'photometric': 'minisblack'}
        if not write('padded.tif', samples[0], **options):
            continue
        poke('padded.tif', 257, 10)
        poke('padded.tif', 256, width)
        if width == 40:
            yield reads(voxfilt, 'padded.tif', samples[:, :10], options)
        elif compression:
            yield is_refused(voxfilt, 'padded.tif', words)
        for rows, right in ((7, True), (6, False)):
            write('exact.tif', samples[0, :7], **options)
            poke('exact.tif', 257, rows)
            poke('exact.tif', 278, rows)
            if compression or right:
                yield reads(voxfilt, 'exact.tif', samples[:, :7], options) if right else is_refused(voxfilt, 'exact.tif', words)
        write('tiles.tif', samples[0], **{**options, 'rowsperstrip': None, 'tile': (16, 64)})
        poke('tiles.tif', 322, 48)
        yield is_refused(voxfilt, 'tiles.tif', 'a tile holds more than its samples' if compression else 'TileByteCounts')


def is_refused(voxfilt, path, words):
    done = run(voxfilt, '-i', path, '-o', 'back.raw')
    refused = done.returncode == 3 and words in done.stderr and done.stderr.count('\n') == 1
    if not refused:
        print('not refused:', path, words, done.returncode, done.stderr.strip())
    return refused


def warned(voxfilt):
    """Of all that libtiff warns of, one note a file; of private tags that it does not know none."""
    with tifffile.TiffWriter('warned.tif', byteorder='<') as file:
        for _ in range(3):
            file.write(numpy.zeros((5, 7), 'u2'), photometric='minisblack', metadata=None, software=False,
                       extratags=[(65001, 3, 1, 7, True)])
    for tag, notes in ((None, 0), (282, 1)):
        if tag:
            with open('warned.tif', 'r+b') as file:
                data = file.read().replace(struct.pack('<HH', tag, 5), struct.pack('<HH', tag, 2))
                file.seek(0)
                file.write(data)
        done = subprocess.run([voxfilt, '-f', 'identity', '-i', 'warned.tif', '-o', 'back.raw'], capture_output=True, text=True, check=False)
        found = [line for line in done.stderr.splitlines() if line.startswith('voxfilt: warned.tif: page 1: ')]
        yield done.returncode == 0 and len(found) == notes and done.stderr.count(': page ') == notes


def sizes(voxfilt):
    """Pages of two sizes."""
    with tifffile.TiffWriter('sizes.tif') as file:
        for shape in ((5, 7), (5, 6)):
            file.write(numpy.zeros(shape, 'u2'), photometric='minisblack', metadata=None)
    done = run(voxfilt, '-i', 'sizes.tif', '-o', 'back.raw')
    yield done.returncode == 3 and done.stderr.strip() == 'voxfilt: sizes.tif: page 2: ImageWidth: 6, but 7 on the first page'


def ome(voxfilt):
    """Pages in any order, of which OME's description tells what they are: as tifffile places them."""
    for trial, order in itertools.product(range(20), '<>'):
        count = 2 + trial % 5
        places = random.permutation(count)
        samples = (random.random((count, 5, 6)) * 100).astype(order + 'u2')
        text = '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels ID="Pixels:0" Type="uint16" ' \
            f'DimensionOrder="XYZCT" SizeX="6" SizeY="5" SizeZ="{count}" SizeC="1" SizeT="1">' + \
            ''.join(f'<TiffData IFD="{page}" FirstZ="{z}" PlaneCount="1"/>' for page, z in enumerate(places)) + '</Pixels></Image></OME>'
        tifffile.imwrite('ome.tif', samples, byteorder=order, photometric='minisblack', metadata=None, description=text,
                         compression='zlib' if trial % 2 else None)
        found = tifffile.imread('ome.tif').astype(samples.dtype)
        yield (found == samples[numpy.argsort(places)]).all() and reads(voxfilt, 'ome.tif', found, 'OME', places)


def files(voxfilt):
    """Planes in files of their own, there and back; and files that differ from the first in what samples do not show."""
    names = ['plane%d.tif' % z for z in range(4)]
    for options in ({}, {'compression': 'zlib'}, {'imagej': True, 'resolution': (2, 2), 'metadata': {'spacing': 3.0, 'unit': 'um'}},
                    {'imagej': True, 'resolution': (2, 2), 'metadata': {'spacing': 1.0}},
                    {'ome': True, 'metadata': {'axes': 'YX', 'PhysicalSizeX': 0.5, 'PhysicalSizeY': 0.5}}):
        samples = random.integers(0, 255, (4, 21, 40)).astype('u1')
        for name, plane in zip(names, samples):
            tifffile.imwrite(name, plane, photometric='minisblack', **options)
        yield reads(voxfilt, 'plane%d.tif', samples, 'files', options)
        if 'imagej' in options:
            told = subprocess.run([voxfilt, '-i', 'plane%d.tif', '--explain'], capture_output=True, text=True, check=False).stdout
            yield 'spacing 0.5 0.5 %g\n' % options['metadata']['spacing'] in told
        done = [run(voxfilt, '-i', 'plane%d.tif', '-o', to, *more) for to, *more in
                (('back%d.tif',), ('back.tif',), ('deflated%d.tif', '--level', '6'))]
        found = [tifffile.imread(['%s%d.tif' % (to, z) for z in range(4)]) for to in ('back', 'deflated')]
        yield not any(run.returncode for run in done) and all((back == samples).all() for back in (*found, tifffile.imread('back.tif')))
    for plane, photometric, words in ((samples[1], 'miniswhite', 'PhotometricInterpretation'), (samples[1] > 9, 'minisblack', 'BitsPerSample')):
        tifffile.imwrite('plane1.tif', plane, photometric=photometric)
        yield is_refused(voxfilt, 'plane%d.tif', words)


def ours(voxfilt):
    for (kind, code), order, level, channels, extents in some(itertools.product(
            TYPES.items(), ('little', 'big'), (None, 0, 6), (1, 3, 5), ((4, 5, 7), (5, 7), (1, 1, 1)))):
        shape = extents + ((channels,) if channels > 1 else ())
        samples = (random.random(shape) * 100).astype('<>'[order == 'big'] + code)
        samples.tofile('ours.raw')
        arguments = ['-i', 'ours.raw', '-d', ','.join(map(str, extents[::-1])), '-t', kind, '--endian', order,
                     '--channels', str(channels), '-o', 'ours.tif'] + (['--level', str(level)] if level is not None else [])
        done = run(voxfilt, *arguments)
        found = tifffile.imread('ours.tif') if done.returncode == 0 else numpy.zeros(0)
        equal = found.size == samples.size and found.dtype.str[1:] == samples.dtype.str[1:] and \
            (found.reshape(shape) == samples).all()
        if not equal:
            print('read differently by tifffile:', *arguments, done.stderr.strip())
        yield equal and reads(voxfilt, 'ours.tif', samples, *arguments)


def check(voxfilt):
    outcomes = [outcome for part in (theirs, ome, damaged, padded, warned, sizes, files) for outcome in part(voxfilt)], list(ours(voxfilt))
    print('%d files of tifffile, %d of voxfilt' % tuple(map(len, outcomes)))
    return 0 if all(map(all, outcomes)) else 1


if __name__ == '__main__':
    sys.exit(check(sys.argv[1]))
