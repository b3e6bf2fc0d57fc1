"""Random jobs run by two builds: the same status, messages and samples, or a line that says where they differ.

Usage: compare_builds.py BEFORE AFTER [--jobs N] [--seed S] [--device NAME] [--ranks N] [--explain] [--samples]

BEFORE and AFTER are directories with voxfilt and imgheat. Samples are random, with some NaNs and infinities. Job K of
a seed is always the same job, so that a difference can be run again: --only K. With --ranks, voxfilt-mpi runs every
volume on 1 to N ranks. They find wisdom of a link so fast that even small volumes are divided.
"""
import argparse
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import zlib

EDGES = ["reflect", "mirror", "nearest", "wrap", "constant", "constant:7", "hold"]
TYPES = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "f64": "d"}
EXTENTS = [1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 47, 64, 65, 97, 128]


def heat(pick):
    options = ["-f", "heat", "-s", str(pick.choice([1, 2, 3, 4, 5, 9, 17]))]
    kind = pick.random()
    if kind < 0.2:
        options += ["--flux", pick.choice(["pm1", "pm2", "tanh"]), "--scale", pick.choice(["0.5", "20", "300"])]
        if pick.random() < 0.3:
            options += ["--inner", str(pick.randint(1, 4)), "--reaction", "0.01"]
    elif kind < 0.3:
        options[2:] = ["--sigma", pick.choice(["0.7", "1.5"])]
    elif kind < 0.4:
        options += ["--alpha", "0.7", "--dt", "0.05"]
    return options


def stage(pick, flat):
    makers = [
        lambda: heat(pick),
        lambda: heat(pick),
        lambda: ["-f", f"gauss:{pick.choice(['0.5', '1', '1.7', '3'])}"],
        lambda: ["-f", f"box:{pick.randint(0, 4)}"],
        lambda: ["-f", "laplace"],
        lambda: ["-f", f"star:{pick.choice([2, 4, 6, 8])}", "-s", str(pick.randint(1, 3))],
        lambda: ["-f", pick.choice(["sobel:x", "prewitt:y", "gradient", "sharpen", "identity"])],
        lambda: ["-f", "unsharp:1,0.5"],
        lambda: ["-f", pick.choice(["log:1", "dog:0.7,1.5", "gradmag:1", "bilateral:1,30"])],
        lambda: ["-f", pick.choice(["median:1", "max:3", "min:2,ball", "percentile:1,30", "order:1,2,x"])],
        lambda: ["-f", pick.choice(["erode:2", "close:1", "tophat:1,ball", "morphgrad:3", "gauss:1,order=1,0,0"])],
        lambda: ["-f", "scale:0.5,3"],
        lambda: ["-f", 'matrix:"1 2 1; 2 4 2; 1 2 1"/16'.replace('"', ""), "-s", str(pick.randint(1, 4))],
    ]
    if not flat:
        makers += [
            lambda: ["-f", "seven:0.4,0.1,0.1,0.1,0.1,0.1,0.1", "-s", str(pick.randint(1, 9))],
            lambda: ["-f", "twentyseven:0.2,0.05,0.02,0.01", "-s", str(pick.randint(1, 4))],
        ]
    options = pick.choice(makers)()
    if pick.random() < 0.7:
        options += ["-e", pick.choice(EDGES)]
    if pick.random() < 0.1:
        options += ["--flip"]
    return options


def stages(pick, flat):
    return [word for _ in range(pick.choice([1, 1, 1, 2, 2, 3])) for word in stage(pick, flat)]


def common(pick):
    options = []
    if pick.random() < 0.4:
        options += ["-j", str(pick.randint(1, 4))]
    if pick.random() < 0.25:
        options += ["-m", pick.choice(["1M", "3M", "20M"])]
    if pick.random() < 0.15:
        options += ["--stats"]
    if pick.random() < 0.1:
        options += ["--work", "f64"]
    if pick.random() < 0.1:
        options += ["--until", pick.choice(["0.1", "1e-3"])]
    if pick.random() < 0.15:
        options += ["--missing", pick.choice(["nan", "7"])]
    return options


def random_samples(pick, letter, count):
    if letter in "fd":
        odd = [float("nan"), float("inf"), -0.0, 1e-40]
        return struct.pack(
            f"<{count}{letter}",
            *(pick.choice(odd) if pick.random() < 1e-4 else pick.uniform(-500, 500) for _ in range(count)),
        )
    return pick.randbytes(count * struct.calcsize(letter))


def outputs(pick, formats):
    options = []
    if pick.random() < 0.3 * formats:
        options += ["--out-format", pick.choice(["nii", "nii.gz", "nrrd", "mha", "npy", "tif", "raw.gz", "mhd"])]
    if pick.random() < 0.3:
        options += pick.choice([
            ["--planes", "1:4"], ["--planes", "2:"], ["--crop", "1:9,0:3"], ["--crop", ":2"], ["--slice", "y=1"],
            ["--part", "1/3"], ["--part", "2/2"], ["--piece", "2/3"],
        ])
    if pick.random() < 0.15:
        options += ["--tee", f"{pick.randint(0, 2)}:STATE"]
    return options


def volume_job(pick, folder):
    flat = pick.random() < 0.3
    extents = [pick.choice(EXTENTS) for _ in range(2 if flat else 3)]
    name = pick.choice(list(TYPES))
    channels = pick.choice([1, 1, 1, 2, 3])
    samples = channels
    for extent in extents:
        samples *= extent
    path = os.path.join(folder, "in.raw")
    with open(path, "wb") as file:
        file.write(random_samples(pick, TYPES[name], samples))
    options = ["-d", ",".join(map(str, extents)), "-t", name]
    if channels > 1:
        options += ["--channels", str(channels)]
    if pick.random() < 0.2:
        options += ["--spacing", "1,1.5" if flat else "1,1.5,2"]
    if pick.random() < 0.2:
        options += ["--out-type", pick.choice(list(TYPES))]
    if pick.random() < 0.1:
        options += ["--out-range", "auto"]
    if pick.random() < 0.1:
        options += ["--out-endian", "big"]
    if pick.random() < 0.1:
        mask = os.path.join(folder, "mask.nrrd")
        with open(mask, "wb") as file:
            file.write(
                f"NRRD0004\ntype: uchar\ndimension: {len(extents)}\nsizes: {' '.join(map(str, extents))}\n"
                "encoding: raw\n\n".encode()
            )
            file.write(bytes(pick.choice([0, 1, 1]) for _ in range(samples // channels)))
        options += ["--mask", mask]
    options += common(pick) + stages(pick, flat)
    return "voxfilt", path, options + outputs(pick, 1 if channels == 1 else 0.7)


def picture(pick, width, height, colour, depth):
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    row = (width * channels * depth + 7) // 8
    rows = b"".join(bytes([pick.randint(0, 4)]) + pick.randbytes(row) for _ in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def picture_job(pick, folder):
    colour = pick.choice([0, 2, 4, 6])
    depth = pick.choice([8, 16] + ([1, 2, 4] if colour == 0 else []))
    path = os.path.join(folder, "in.png")
    with open(path, "wb") as file:
        file.write(picture(pick, pick.choice(EXTENTS), pick.choice(EXTENTS), colour, depth))
    options = []
    if pick.random() < 0.2:
        options += ["--linear"]
    if pick.random() < 0.2:
        options += ["--alpha-mode", pick.choice(["premultiply", "separate"])]
    if pick.random() < 0.2:
        options += ["--level", str(pick.randint(0, 9))]
    return "imgheat", path, options + common(pick) + stages(pick, True)


def give_link(folder, version, ranks):
    """Wisdom of a link that costs nothing."""
    node = socket.gethostname()
    lines = [f"voxfilt wisdom 3 of {version}"]
    for count in range(2, ranks + 1):
        name = f"link of {count} ranks, {count} on {node}"
        lines += [f"{name}\t{rate}\tlink\t0\t0\t0\t0\t0\t1e15" for rate in ("bytes a second", "messages a second")]
    os.makedirs(os.path.join(folder, "voxfilt"))
    with open(os.path.join(folder, "voxfilt", "wisdom"), "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


# What tests/rankbook.sh asks of Open MPI.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_odls_base_sigkill_timeout": "0", "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def command(build, program, ranks):
    if ranks == 0:
        return [os.path.join(build, program)]
    return [os.environ.get("MPIRUN", "mpirun"), "-n", str(ranks), os.path.join(build, program + "-mpi")]


def run(words, path, options, out):
    """The status, what was said, and all files that were written."""
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    options = [option.replace("STATE", os.path.join(out, "state")) for option in options]
    done = subprocess.run(
        [*words, *options, "-i", path, "-o", os.path.join(out, "made")],
        stdin=subprocess.DEVNULL, capture_output=True, check=False)
    told = re.sub(rb"\d+(\.\d+)? ?m?s\b", b"", done.stderr)
    if len(words) > 1:  # what the launcher says of a failure names processes and programs
        told = b"".join(line for line in told.splitlines(True) if line.startswith(b"voxfilt-mpi: "))
    files = {}
    for name in sorted(os.listdir(out)):
        with open(os.path.join(out, name), "rb") as file:
            files[name] = file.read()
    return done.returncode, done.stdout, told, files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device")
    parser.add_argument("--ranks", type=int, default=0, help="run volumes on 1 to N ranks")
    parser.add_argument("--explain", action="store_true", help="compare plans, too")
    parser.add_argument("--samples", action="store_true", help="compare status and output alone")
    parser.add_argument("--only", type=int, help="run job K alone and print it")
    asked = parser.parse_args()
    differ = refused = divided = 0
    with tempfile.TemporaryDirectory() as folder:
        if asked.ranks > 0:
            version = subprocess.run([os.path.join(asked.after, "voxfilt"), "--version"], capture_output=True, check=True)
            give_link(folder, version.stdout.split()[2].decode(), asked.ranks)
            os.environ.update(OPEN_MPI, XDG_CACHE_HOME=folder)
        for number in [asked.only] if asked.only is not None else range(asked.jobs):
            pick = random.Random(f"{asked.seed}/{number}")
            picture = pick.random() < 0.35
            program, path, options = (picture_job if picture and asked.ranks == 0 else volume_job)(pick, folder)
            ranks = pick.randint(1, asked.ranks) if asked.ranks > 0 else 0
            if asked.device:
                options = ["-D", asked.device, *options]
            if asked.only is not None:
                print(*command("", program, ranks), *options)
            out = os.path.join(folder, "out")
            ways = [options] + ([[*options, "--explain"]] if asked.explain else [])
            results = [
                [run(command(build, program, ranks), path, way, out) for way in ways]
                for build in (asked.before, asked.after)]
            refused += results[0][0][0] not in (0, 7)
            divided += ranks > 1 and b"alone" not in results[0][0][2] and results[0][0][0] in (0, 7)
            if asked.samples:
                results = [[(status, files) for status, _, _, files in each] for each in results]
            if results[0] != results[1]:
                differ += 1
                print(f"job {number} differs: {' '.join(command('', program, ranks))} {' '.join(options)}", flush=True)
    shared = f", {divided} divided among ranks" if asked.ranks > 0 else ""
    print(f"seed {asked.seed}: {asked.jobs} jobs, {refused} refused{shared}, {differ} differ")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
