#!/usr/bin/env python3
"""Zarr stores of others, read: arrays and OME-Zarr images of both versions, with every type, order, code, shard and fill.

Usage: zarr_stores.py VOXFILT, in a folder of its own. Needs NumPy and zarr, 2 or 3; where they are installed, ome-zarr,
tensorstore and acquire-zarr write stores, too. VOXFILT_STORES is the number of random arrays of each (6). Prints how many
stores each wrote; exits with 1 if samples, extents or distances of one were read differently."""
import importlib.util
import json
import os
import shutil
import subprocess
import sys

import numpy
import zarr

TRIALS = int(os.environ.get('VOXFILT_STORES', 6)) // int(os.environ.get('VOXFILT_THIN', 1)) + 1
ZARR_3 = int(zarr.__version__.split('.', maxsplit=1)[0]) >= 3
TYPES = ('u1', 'i1', 'u2', 'i2', 'u4', 'i4', 'u8', 'i8', 'f2', 'f4', 'f8', '?')
UNITS = {'micrometer': 1e-3, 'nanometer': 1e-6, 'millimeter': 1.0, 'meter': 1e3}
ORDERS = ('zyx', 'tczyx', 'czyx', 'tzyx', 'yx', 'cyx', 'tcyx', 'xyz', 'yxz', 'zxy', 'tzcxy', 'zyxc')
random = numpy.random.default_rng(int(os.environ.get('VOXFILT_SEED', 17)))
failed = 0


def pick(values):
    return values[int(random.integers(len(values)))]


def wrong(*what):
    global failed
    failed += 1
    print('wrong:', *what)


def samples_of(shape, dtype):
    """Random bits, in runs, so that codes have something to do; floating-point numbers of every kind."""
    dtype = numpy.dtype(dtype)
    size = int(numpy.prod(shape))
    if dtype == '?':
        return random.integers(0, 2, shape).astype('?')
    values = numpy.frombuffer(random.bytes(size * dtype.itemsize), dtype)
    values = numpy.repeat(values[: size // 3 + 1], 3)[:size].reshape(shape)
    return values.copy() if dtype.kind != 'f' else numpy.nan_to_num(values, nan=0.5)


def fill_of(dtype):
    dtype = numpy.dtype(dtype)
    if dtype == '?':
        return bool(random.integers(2))
    if dtype.kind == 'f':
        return pick((0.0, 1.5, float('nan'), float('inf'), float('-inf'), -0.25))
    return int(pick((0, 1, numpy.iinfo(dtype).max, numpy.iinfo(dtype).min)))


def shape_of(axes):
    return tuple(int(random.integers(1, 4 if axis in 'tco' else 40)) for axis in axes)


def chunks_of(shape):
    return tuple(int(random.integers(1, extent + 6)) for extent in shape)


class Reader:
    """voxfilt, and what it makes of stores."""

    def __init__(self, voxfilt):
        self.voxfilt = voxfilt

    def run(self, *arguments):
        return subprocess.run([self.voxfilt, '-D', 'cpu', '-f', 'identity', *arguments], capture_output=True, text=True, check=False)

    def volumes(self, samples, axes):
        """Axes outside space first, in their own order; then z, y and x."""
        space = [axis for axis in 'zyx' if axis in axes]
        order = [axes.index(axis) for axis in axes if axis not in space] + [axes.index(axis) for axis in space]
        moved = samples.transpose(order)
        return moved.reshape((-1, *moved.shape[moved.ndim - len(space):]))

    def check(self, path, samples, axes, what, spacing=None, options=()):
        """All volumes; then one of them, and a box of that; and distances in millimetres."""
        if samples.dtype == '?':
            samples = samples.astype('u1')
        expected = numpy.ascontiguousarray(self.volumes(samples, axes))
        if not self.same(path, expected, what, *options):
            return
        volume = int(random.integers(len(expected)))
        one, box = expected[volume], []
        for extent in one.shape:
            first = int(random.integers(extent))
            box.append((first, int(random.integers(first + 1, extent + 1))))
        crop = ','.join(f'{first}:{end}' for first, end in reversed(box))
        cut = one[tuple(slice(first, end) for first, end in box)]
        self.same(path, cut, (what, volume, crop), '--volume', str(volume), '--crop', crop, *options)
        if spacing is not None:
            self.distances(path, spacing, (what, options), options)

    def same(self, path, expected, what, *options):
        done = self.run('-q', '-i', path, '-o', 'back.npy', *options)
        if done.returncode != 0:
            wrong(what, done.stderr.strip())
            return False
        found = numpy.load('back.npy')
        if found.size != expected.size or found.dtype.newbyteorder('=') != expected.dtype.newbyteorder('='):
            wrong(what, found.shape, found.dtype, expected.shape, expected.dtype)
            return False
        if found.astype(expected.dtype.newbyteorder('=')).tobytes() == expected.astype(expected.dtype.newbyteorder('=')).tobytes():
            return True
        wrong(what, 'samples differ')
        return False

    def distances(self, path, expected, what, options):
        done = self.run('-i', path, '--explain=json', *options)
        found = json.loads(done.stdout)['spacing'] if done.returncode == 0 else []
        if not numpy.allclose(found[: len(expected)], expected, rtol=1e-12):
            wrong(what, found, expected, done.stderr.strip())


# ---- arrays alone ----


def store_2(path, number):
    """An array of version 2. Without a code for a type, blosc is left out."""
    from numcodecs import Blosc, GZip, Zlib, Zstd
    codes = [None, Zlib(1), GZip(2), Zstd(3)] + [Blosc(cname, 5, shuffle, block) for cname in ('lz4', 'lz4hc', 'zstd', 'blosclz', 'zlib')
                                                 for shuffle in (0, 1, 2) for block in (0, 1024)]
    axes = 'aaaaa'[: pick((1, 2, 3, 3, 3, 4, 5))]
    shape = tuple(int(random.integers(1, 30 if i + 3 >= len(axes) else 4)) for i in range(len(axes)))
    dtype = numpy.dtype(TYPES[number % len(TYPES)]).newbyteorder(pick('<>'))
    samples = samples_of(shape, dtype)
    made = {'shape': shape, 'chunks': chunks_of(shape), 'dtype': dtype, 'order': pick('CF'), 'fill_value': fill_of(dtype)}
    if ZARR_3:
        made |= {'compressors': pick(codes), 'chunk_key_encoding': {'name': 'v2', 'separator': pick('./')}, 'zarr_format': 2}
        array = zarr.create_array(path, **made)
    else:
        made |= {'compressor': pick(codes), 'dimension_separator': pick('./')}
        array = zarr.open_array(path, 'w', **made)
    write(array, samples)
    return array[...], made


def write(array, samples):
    """All of it, or one corner, so that chunks are missing."""
    if random.integers(3) > 0:
        array[...] = samples
    else:
        corner = tuple(slice(0, (extent + 1) // 2) for extent in samples.shape)
        array[corner] = samples[corner]


def codes_3():
    from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec
    packer = pick([None, GzipCodec(level=1), ZstdCodec(level=1), ZstdCodec(level=3, checksum=True)] +
                  [BloscCodec(cname=cname, shuffle=shuffle) for cname in ('lz4', 'zstd', 'zlib', 'blosclz') for shuffle in ('noshuffle', 'shuffle', 'bitshuffle')])
    return [code for code in (packer, Crc32cCodec() if random.integers(3) == 0 else None) if code is not None]


def array_3(path, shape, dtype, names=None):
    from zarr.codecs import BytesCodec, TransposeCodec
    chunks = chunks_of(shape)
    made = {'shape': shape, 'chunks': chunks, 'dtype': dtype, 'fill_value': fill_of(dtype), 'compressors': codes_3(),
            'serializer': BytesCodec(endian=pick(('little', 'big')))}
    if random.integers(2):
        made['shards'] = tuple(int(random.integers(1, 4)) * chunk for chunk in chunks)
    if random.integers(3) == 0:
        made['filters'] = [TransposeCodec(order=tuple(int(i) for i in random.permutation(len(shape))))]
    if random.integers(2):
        made['chunk_key_encoding'] = {'name': pick(('default', 'v2')), 'separator': pick('./')}
    if names is not None:
        made['dimension_names'] = names
    return zarr.create_array(path, **made), made


def store_3(path, number):
    axes = 'aaaaa'[: pick((1, 2, 3, 3, 3, 4, 5))]
    shape = tuple(int(random.integers(1, 30 if i + 3 >= len(axes) else 4)) for i in range(len(axes)))
    dtype = numpy.dtype('bool' if TYPES[number % len(TYPES)] == '?' else TYPES[number % len(TYPES)])
    array, made = array_3(path, shape, dtype)
    write(array, samples_of(shape, dtype))
    return array[...], made


def arrays(reader, make):
    for number in range(TRIALS):
        shutil.rmtree('a.zarr', ignore_errors=True)
        samples, made = make('a.zarr', number)
        axes = 'ab' + 'zyx' if samples.ndim > 3 else 'zyx'[3 - samples.ndim:]
        reader.check('a.zarr', samples, axes[len(axes) - samples.ndim:], made)
    return TRIALS


# ---- images ----


def describe(axes, levels, version):
    """Multiscales of random distances, and those that x, y and z have in the unit of x."""
    kinds = {'t': 'time', 'c': 'channel'}
    units = {axis: pick(list(UNITS)) for axis in axes if axis in 'xyz'}
    if random.integers(2):
        units = dict.fromkeys(units, units['x'])
    told = [{'name': axis, 'type': kinds.get(axis, 'space')} | ({'unit': units[axis]} if axis in units else {}) for axis in axes]
    outer = [1.0 if axis not in 'xyz' else float(random.integers(1, 5)) for axis in axes]
    datasets, spacings = [], []
    for level in range(levels):
        scale = [0.25 * (2 ** level) * float(random.integers(1, 9)) if axis in 'xyz' else 1.0 for axis in axes]
        steps = [{'type': 'scale', 'scale': scale}]
        if random.integers(2):
            steps.append({'type': 'translation', 'translation': [0.5 * level] * len(axes)})
        datasets.append({'path': pick((f'{level}', f'level/{level}', f's{level}')), 'coordinateTransformations': steps})
        spacings.append([scale[axes.index(axis)] * outer[axes.index(axis)] * UNITS[units[axis]] / UNITS[units['x']] for axis in 'xyz' if axis in axes])
    image = {'name': 'image', 'axes': told, 'datasets': datasets, 'coordinateTransformations': [{'type': 'scale', 'scale': outer}]}
    if version == 2:
        image['version'] = '0.4'
    return image, spacings


def image(reader, number, make, version):
    """A pyramid; each level is of other random samples, so that a wrong one shows."""
    axes = ORDERS[number % len(ORDERS)]
    levels = int(random.integers(1, 4))
    described, spacings = describe(axes, levels, version)
    shutil.rmtree('i.zarr', ignore_errors=True)
    if version == 2:
        group = zarr.open_group('i.zarr', mode='w', **({'zarr_format': 2} if ZARR_3 else {}))
        group.attrs['multiscales'] = [described]
        group.attrs['omero'] = {'channels': []}
    else:
        group = zarr.open_group('i.zarr', mode='w', zarr_format=3)
        group.attrs['ome'] = {'version': '0.5', 'multiscales': [described]}
    for level in range(levels):
        shape = shape_of(axes)
        written, made = make('i.zarr/' + described['datasets'][level]['path'], shape, pick(('u1', 'u2', 'f4', 'i2')))
        reader.check('i.zarr', written, axes, (axes, level, made), spacings[level], ('--resolution', str(level)))


def make_2(path, shape, dtype):
    if ZARR_3:
        array = zarr.create_array(path, shape=shape, chunks=chunks_of(shape), dtype=dtype, zarr_format=2, chunk_key_encoding={'name': 'v2', 'separator': '/'})
    else:
        array = zarr.open_array(path, 'w', shape=shape, chunks=chunks_of(shape), dtype=dtype, dimension_separator='/')
    write(array, samples_of(shape, dtype))
    return array[...], array.chunks


def make_3(path, shape, dtype):
    array, made = array_3(path, shape, dtype)
    write(array, samples_of(shape, dtype))
    return array[...], made


def images_2(reader):
    for number in range(TRIALS):
        image(reader, number, make_2, 2)
    return TRIALS


def images_3(reader):
    for number in range(TRIALS):
        image(reader, number, make_3, 3)
    return TRIALS


# ---- other libraries ----


def ome_zarr_images(reader):
    """ome-zarr-py, both versions, which makes pyramids."""
    from ome_zarr.format import FormatV04, FormatV05
    from ome_zarr.writer import write_image
    for number in range(TRIALS):
        axes = ('zyx', 'czyx', 'tczyx', 'yx', 'cyx')[number % 5]
        shape = tuple(int(random.integers(1, 4)) if axis in 'tc' else int(random.integers(20, 70)) for axis in axes)
        shutil.rmtree('o.zarr', ignore_errors=True)
        samples = samples_of(shape, pick(('u1', 'u2', 'f4')))
        version = pick((FormatV04, FormatV05))()
        scale = {axis: float(random.integers(1, 9)) / 4 for axis in axes if axis in 'xyz'}
        write_image(samples, 'o.zarr', axes=axes, fmt=version, scale_factors=[2, 4], scale=scale, axes_units=dict.fromkeys(scale, 'micrometer'))
        group = zarr.open_group('o.zarr', mode='r')
        told = group.attrs['ome'] if 'ome' in group.attrs else group.attrs
        for level, dataset in enumerate(told['multiscales'][0]['datasets']):
            whole = dataset['coordinateTransformations'][0]['scale']
            spacing = [whole[axes.index(axis)] for axis in 'xyz' if axis in axes]
            reader.check('o.zarr', group[dataset['path']][...], axes, ('ome-zarr', axes, level), spacing, ('--resolution', str(level)))
    return TRIALS


def tensorstore_arrays(reader):
    """tensorstore, both versions, with shards whose index stands at either end."""
    import tensorstore
    for number in range(TRIALS):
        shutil.rmtree('t.zarr', ignore_errors=True)
        shape = tuple(int(random.integers(2, 40)) for _ in range(3))
        chunks = tuple(int(random.integers(1, extent + 1)) for extent in shape)
        dtype = pick(('uint8', 'uint16', 'int32', 'float32', 'float64'))
        if number % 3 == 0:
            metadata = {'shape': shape, 'chunks': chunks, 'dtype': numpy.dtype(dtype).newbyteorder('<').str, 'order': pick('CF'),
                        'compressor': pick((None, {'id': 'blosc', 'cname': pick(('lz4', 'zstd')), 'clevel': 5, 'shuffle': pick((0, 1, 2))},
                                            {'id': 'zlib', 'level': 1}, {'id': 'zstd', 'level': 1}))}
            spec = {'driver': 'zarr', 'kvstore': {'driver': 'file', 'path': 't.zarr'}, 'metadata': metadata}
        else:
            packer = pick(([], [{'name': 'gzip', 'configuration': {'level': 1}}], [{'name': 'zstd', 'configuration': {'level': 3}}],
                           [{'name': 'blosc', 'configuration': {'cname': 'zstd', 'clevel': 3, 'shuffle': 'bitshuffle'}}], [{'name': 'crc32c'}]))
            inner = [{'name': 'bytes', 'configuration': {'endian': pick(('little', 'big'))}}, *packer]
            if random.integers(2):
                inner.insert(0, {'name': 'transpose', 'configuration': {'order': [int(i) for i in random.permutation(3)]}})
            shards, codecs = chunks, inner
            if number % 3 == 1:
                shards = tuple(int(random.integers(1, 4)) * chunk for chunk in chunks)
                codecs = [{'name': 'sharding_indexed', 'configuration': {
                    'chunk_shape': chunks, 'codecs': inner, 'index_location': pick(('start', 'end')),
                    'index_codecs': [{'name': 'bytes', 'configuration': {'endian': 'little'}}] + pick(([], [{'name': 'crc32c'}]))}}]
            metadata = {'shape': shape, 'data_type': dtype, 'codecs': codecs,
                        'chunk_grid': {'name': 'regular', 'configuration': {'chunk_shape': shards}}}
            spec = {'driver': 'zarr3', 'kvstore': {'driver': 'file', 'path': 't.zarr'}, 'metadata': metadata}
        store = tensorstore.open(spec, create=True, delete_existing=True).result()
        samples = samples_of(shape, dtype)
        store[...] = samples
        reader.check('t.zarr', samples, 'zyx', metadata)
    return TRIALS


def acquire_images(reader):
    """acquire-zarr streams images of version 0.5."""
    import acquire_zarr
    kinds = acquire_zarr.DimensionType
    for number in range(TRIALS):
        shutil.rmtree('q.zarr', ignore_errors=True)
        extents = [int(random.integers(1, 4)), int(random.integers(1, 3)), int(random.integers(1, 9)), int(random.integers(8, 33)), int(random.integers(8, 33))]
        names = ['t', 'c', 'z', 'y', 'x']
        types = [kinds.TIME, kinds.CHANNEL, kinds.SPACE, kinds.SPACE, kinds.SPACE]
        dimensions = [acquire_zarr.Dimension(name=name, kind=kind, array_size_px=extent, chunk_size_px=int(random.integers(1, extent + 1)),
                                             shard_size_chunks=int(random.integers(1, 3))) for name, kind, extent in zip(names, types, extents)]
        codec = pick((None, acquire_zarr.CompressionCodec.BLOSC_LZ4, acquire_zarr.CompressionCodec.BLOSC_ZSTD))
        packing = None if codec is None else acquire_zarr.CompressionSettings(compressor=acquire_zarr.Compressor.BLOSC1, codec=codec, level=1, shuffle=pick((0, 1, 2)))
        settings = acquire_zarr.StreamSettings(arrays=[acquire_zarr.ArraySettings(
            output_key='', dimensions=dimensions, data_type=acquire_zarr.DataType.UINT16, compression=packing)], store_path='q.zarr', overwrite=True)
        samples = samples_of(extents, 'u2')
        stream = acquire_zarr.ZarrStream(settings)
        stream.append(samples)
        stream.close()
        reader.check('q.zarr', samples, 'tczyx', (extents, dimensions, codec))
    return TRIALS


def main():
    reader = Reader(sys.argv[1])
    others = [(name, work) for module, name, work in (('ome_zarr', 'ome-zarr', ome_zarr_images), ('tensorstore', 'tensorstore', tensorstore_arrays),
                                                      ('acquire_zarr', 'acquire-zarr', acquire_images)) if importlib.util.find_spec(module) is not None]
    work = [('arrays of version 2', lambda reader: arrays(reader, store_2)), ('images of version 0.4', images_2)]
    if ZARR_3:
        work += [('arrays of version 3', lambda reader: arrays(reader, store_3)), ('images of version 0.5', images_3), *others]
    for name, make in work:
        print(f'zarr {zarr.__version__}: {make(reader)} {name}')
    sys.exit(failed > 0)


main()
