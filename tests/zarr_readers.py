"""Random arrays that voxfilt writes as OME-Zarr, read by other libraries: zarr_readers.py VOXFILT COUNT"""

import random
import shutil
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import tensorstore
import zarr
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from ome_zarr_models import open_ome_zarr

TYPES = {
    "u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "u32": "u4", "i32": "i4",
    "u64": "u8", "i64": "i8", "f16": "f2", "f32": "f4", "f64": "f8",
}
EXTENTS = [1, 2, 5, 64, 127, 128, 129, 140, 257]


def make(rng, volume):
    """A raw file, the options that describe it, and the samples as an array (t, c, z, y, x)."""
    name = rng.choice(list(TYPES))
    order = rng.choice("<>")
    axes = rng.choice([2, 3, 3, 3])
    channels = rng.choice([1, 1, 1, 2, 3])
    volumes = rng.choice([1, 1, 3])
    extents = [rng.choice(EXTENTS) for _ in range(axes)]
    while np.prod(extents) * channels * volumes > 3e6:
        extents[rng.randrange(axes)] = rng.choice(EXTENTS[:4])
    samples = np.random.default_rng(rng.randrange(1 << 30)).integers(
        0, rng.choice([1, 2, 120]), [volumes] + extents[::-1] + [channels])
    samples = samples.astype(order + TYPES[name])
    samples[..., : extents[0] // 2, :] = 0
    if volumes > 1:
        kinds = ["vector"] * (channels > 1) + ["domain"] * axes + ["time"]
        with open(volume + ".nrrd", "wb") as file:
            sizes = [channels] * (channels > 1) + extents + [volumes]
            text = {"u": "uint", "i": "int", "f": "float"}[name[0]] + name[1:]
            text = {"float32": "float", "float64": "double"}.get(text, text)
            file.write(f"NRRD0004\ntype: {text}\ndimension: {len(sizes)}\nsizes: {' '.join(map(str, sizes))}\n"
                       f"kinds: {' '.join(kinds)}\nendian: {'big' if order == '>' else 'little'}\n"
                       "encoding: raw\n\n".encode() + samples.tobytes())
        options = ["-i", volume + ".nrrd"]
    else:
        samples.tofile(volume + ".raw")
        options = ["-i", volume + ".raw", "-t", name, "-d", ",".join(map(str, extents)), "--channels", str(channels),
                   "--endian", "big" if order == ">" else "little"]
    if volumes > 1 and (axes < 3 or name == "f16"):
        return None
    order = list(range(samples.ndim))
    array = samples.transpose([0, len(order) - 1] + order[1:-1])
    array = array[:, 0] if channels == 1 else array
    return options, array[0] if volumes == 1 else array


def is_same(read, array):
    read = np.asarray(read)
    kind = array.dtype.newbyteorder("=")
    return read.shape == array.shape and read.dtype.newbyteorder("=") == kind and \
        read.astype(kind).tobytes() == array.astype(kind).tobytes()


def judge(store, array):
    """The libraries that do not find these samples."""
    group = zarr.open_group(store, mode="r")
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": store + "/0"}}
    read = {
        "zarr-python": group["0"][...],
        "tensorstore": tensorstore.open(spec).result().read().result(),
        "ome-zarr-py": next(iter(Reader(parse_url(store))())).data[0].compute(),
    }
    failed = [name for name, samples in read.items() if not is_same(samples, array)]
    return failed + ["ome-zarr-models"] * (type(open_ome_zarr(group)).__name__ != "Image")


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    failures = tried = 0
    for seed in range(count):
        rng = random.Random(seed)
        made = make(rng, "volume")
        if made is None:
            continue
        options, array = made
        level = rng.choice([[], [], ["--level", str(rng.randrange(10))]])
        subprocess.run([program, "-f", "identity", "-q", "-o", "out.ome.zarr", *options, *level], check=True)
        failed = judge("out.ome.zarr", array)
        shutil.rmtree("out.ome.zarr")
        tried += 1
        if failed:
            failures += 1
            print("FAIL", seed, array.dtype, array.shape, " ".join(options + level), "differs for", ", ".join(failed))
    print(f"{tried} stores, {failures} failures")
    sys.exit(failures > 0 or tried == 0)


main()
