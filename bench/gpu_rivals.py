"""voxfilt on a GPU beside cupyx.scipy.ndimage, torch and the kernels of a first lesson (plain_kernels.cu).

Usage: gpu_rivals.py [BUILD [WORDS]]     BUILD: a build directory, here by default; WORDS: only the jobs named so

All programs get the same random f32 samples in the same run, and all read zeros outside the grid. Figures are samples times
steps a second, in 1e9, the median of nine runs timed by the device's events; `differs` is the largest difference from
voxfilt's result, whose samples lie between 0 and 1. Programs round differently, so it is small and not 0. What is not
installed is left out, and said so. The plain kernels need nvcc alone. Exits with 77 where voxfilt finds no GPU.
"""
import ctypes
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("NumPy is not installed")
    sys.exit(77)

RUNS = 9
LAUNCHES = 8  # in a run
FUSED_STEPS = 8


class Job:
    """A stage: what voxfilt is asked, and the window of weights that the others correlate with (of a gradient: one an axis)."""

    def __init__(self, name, extents, options, weights, steps=1):
        self.name, self.extents, self.options, self.weights, self.steps = name, extents, options, weights, steps

    def shape(self):
        return self.extents[::-1]

    def rate(self, seconds_per_step):
        return numpy.prod(self.extents, dtype=float) / seconds_per_step / 1e9


def star(axes):
    weights = numpy.zeros((3,) * axes, "f4")
    for axis in range(axes):
        for end in (0, 2):
            weights[tuple(end if a == axis else 1 for a in range(axes))] = 0.125
    weights[(1,) * axes] = 1 - 2 * axes * 0.125
    return weights


def window(side):
    raw = 1 + (7 * numpy.arange(side)[:, None] + 3 * numpy.arange(side)[None, :]) % 5
    rows = "; ".join(" ".join(str(w) for w in row) for row in raw)
    return f"matrix:{rows}/{raw.sum()}", (raw / raw.sum()).astype("f4")


def gauss(sigma, axes):
    radius = int(4 * sigma + 0.5)
    line = numpy.exp(-0.5 * (numpy.arange(-radius, radius + 1) / sigma) ** 2)
    return outer(*[line / line.sum()] * axes)


def outer(*lines):
    product = numpy.ones(())
    for line in lines:
        product = numpy.multiply.outer(product, line)
    return product.astype("f4")


def sobel(axes):
    return outer(*[[1, 2, 1]] * (axes - 1), [-1, 0, 1])


def differences(axes):
    """A window for each axis: half the difference of the two neighbours."""
    lines = [[[-0.5, 0, 0.5] if i == axis else [0, 1, 0] for i in range(axes)] for axis in range(axes)]
    return numpy.stack([outer(*each) for each in lines])


def jobs():
    cube, square = (512, 512, 512), (8192, 8192)
    yield Job("7 points, 512³", cube, ["-f", "heat", "-s", "1"], star(3))
    yield Job(f"7 points, 512³, {FUSED_STEPS} steps", cube, ["-f", "heat", "-s", str(FUSED_STEPS)], star(3), FUSED_STEPS)
    yield Job("5 points, 8192²", square, ["-f", "heat", "-s", "1"], star(2))
    box = numpy.full((3, 3, 3), 1 / 32, "f4")
    box[1, 1, 1] = 6 / 32
    yield Job("27 points, 512³", cube, ["-f", "twentyseven:0.1875,0.03125,0.03125,0.03125"], box)
    for side in (3, 5, 7, 9, 15, 31):
        spec, weights = window(side)
        yield Job(f"{side} × {side}, 8192²", square, ["-f", spec], weights)
    for sigma in (1.5, 3):
        yield Job(f"gauss:{sigma}, 512³", cube, ["-f", f"gauss:{sigma}"], gauss(sigma, 3))
    yield Job("gauss:3, 8192²", square, ["-f", "gauss:3"], gauss(3, 2))
    yield Job("sobel:x, 512³", cube, ["-f", "sobel:x"], sobel(3))
    yield Job("sobel:x, 8192²", square, ["-f", "sobel:x"], sobel(2))
    yield Job("gradient, 512³", cube, ["-f", "gradient"], differences(3))
    yield Job("gradient, 8192²", square, ["-f", "gradient"], differences(2))


# ---- voxfilt


def where(job):
    return ["-D", "cuda", "-e", "constant", "-d", ",".join(str(n) for n in job.extents)]


def planned_seconds(rows):
    """Seconds of a step by the kernels that a plan takes: of all its operations, if there are several."""
    planned = [row for row in rows if "what a plan takes" in row.get("comment", "") and not row["rung"].startswith("sum-")]
    return next((row for row in planned if "operations" in row), planned[0])["seconds_per_step"]


def run_voxfilt(program, job, samples, folder):
    source, target = os.path.join(folder, "in.raw"), os.path.join(folder, "out.raw")
    samples.tofile(source)
    filtered = [program, "-q", *where(job), "-t", "f32", *job.options, "-i", source, "-o", target]
    subprocess.run(filtered, check=True)
    measured = [program, *where(job), *job.options, "--bench=json"]
    rows = json.loads(subprocess.run(measured, check=True, capture_output=True).stdout)
    return planned_seconds(rows), numpy.fromfile(target, "f4").reshape(job.shape())


# ---- the others: each makes a function of its library that takes all steps once, and tells how to time it


def median_seconds(steps, step_once, new_event, milliseconds):
    taken = []
    for _ in range(RUNS + 1):
        begun, ended = new_event(), new_event()
        begun.record()
        for _ in range(LAUNCHES):
            step_once()
        ended.record()
        ended.synchronize()
        taken.append(milliseconds(begun, ended) / 1e3 / LAUNCHES / steps)
    return statistics.median(taken[1:])  # the first one warmed up


def run_cupy(job, samples):
    cupy = importlib.import_module("cupy")
    ndimage = importlib.import_module("cupyx.scipy.ndimage")
    start = cupy.asarray(samples)
    weights = cupy.asarray(job.weights)
    length = cupy.ReductionKernel("T d", "T length", "d * d", "a + b", "length = sqrt(a)", "0", "length")

    def step(state):
        name, _, argument = job.options[1].partition(":")
        if name == "gauss":
            return ndimage.gaussian_filter(state, float(argument), mode="constant", truncate=4.0)
        if name == "sobel":
            return ndimage.sobel(state, axis=-1, mode="constant")
        if name == "gradient":
            return length(cupy.stack([ndimage.correlate(state, each, mode="constant") for each in weights]), axis=0)
        return ndimage.correlate(state, weights, mode="constant")

    def all_steps():
        state = start
        for _ in range(job.steps):
            state = step(state)
        return state

    result = cupy.asnumpy(all_steps())
    return median_seconds(job.steps, all_steps, cupy.cuda.Event, cupy.cuda.get_elapsed_time), result


def torch_layers(job, axes):
    """Weights of convolutions, one after the other: of a Gaussian along each axis. A layer may have several results."""
    if not job.options[1].startswith("gauss"):
        return [job.weights.reshape(-1, 1, *job.weights.shape[-axes:])]
    line = job.weights.sum(axis=tuple(range(1, axes)))
    return [line.reshape(1, 1, *[-1 if i == axis else 1 for i in range(axes)]) for axis in range(axes)]


def run_torch(job, samples):
    torch = importlib.import_module("torch")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    axes = samples.ndim
    convolve = torch.nn.functional.conv3d if axes == 3 else torch.nn.functional.conv2d
    start = torch.from_numpy(samples).cuda()[None, None]
    layers = [torch.from_numpy(weights).cuda() for weights in torch_layers(job, axes)]

    def all_steps():
        state = start
        for _ in range(job.steps):
            for weights in layers:
                state = convolve(state, weights, padding=[side // 2 for side in weights.shape[2:]])
            if len(layers[0]) > 1:
                state = torch.linalg.vector_norm(state, dim=1, keepdim=True)
        return state

    with torch.no_grad():
        result = all_steps()[0, 0].cpu().numpy()
        new_event = lambda: torch.cuda.Event(enable_timing=True)
        return median_seconds(job.steps, all_steps, new_event, lambda a, b: a.elapsed_time(b)), result


def load_plain(folder):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    source = os.path.join(root, "kernels", "cuda", "ladder", "plain_kernels.cu")
    library = os.path.join(folder, "plain.so")
    nvcc = os.environ.get("NVCC", "nvcc")
    subprocess.run([nvcc, "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", library, source], check=True)
    plain = ctypes.CDLL(library)
    plain.plain_heat.restype = plain.plain_window.restype = ctypes.c_double
    return plain


def run_plain(plain, job, samples):
    pointer = ctypes.POINTER(ctypes.c_float)
    result = numpy.empty_like(samples)
    extents = [ctypes.c_int(n) for n in job.extents]
    fields = [samples.ctypes.data_as(pointer), result.ctypes.data_as(pointer)]
    if "heat" in job.options and job.steps == 1:
        depth = extents[2:] or [ctypes.c_int(1)]
        centre = ctypes.c_float(job.weights[(1,) * samples.ndim])
        seconds = plain.plain_heat(*extents[:2], *depth, *fields, centre, ctypes.c_float(0.125))
    elif samples.ndim == 2 and job.weights.ndim == 2:
        weights = numpy.ascontiguousarray(job.weights)
        seconds = plain.plain_window(*extents, *fields, weights.ctypes.data_as(pointer), len(weights))
    else:
        return None
    if seconds < 0:
        raise RuntimeError("CUDA failed")
    return seconds, result


def rivals(folder):
    """Name and function of each rival that is there; a line for each that is not."""
    found = []
    for name, module, function in (("cupyx", "cupy", run_cupy), ("torch", "torch", run_torch)):
        try:
            library = importlib.import_module(module)
            found.append((f"{name} {library.__version__}", function))
        except ImportError:
            print(f"{name}: not installed, left out")
    try:
        plain = load_plain(folder)
        found.append(("plain kernel", lambda job, samples: run_plain(plain, job, samples)))
    except (OSError, subprocess.CalledProcessError):
        print("plain kernel: nvcc is not installed, left out")
    return found


def has_gpu(program):
    return subprocess.run([program, "-D", "cuda", "-n", "8", "--explain"], capture_output=True).returncode == 0


def tell(job, name, seconds, difference):
    print(f"{job.name:26} {name:20} {job.rate(seconds):9.1f} {difference:>10}", flush=True)


def compare(program, job, others, folder):
    samples = numpy.random.default_rng(1).random(job.shape(), dtype="f4")
    seconds, ours = run_voxfilt(program, job, samples, folder)
    tell(job, "voxfilt", seconds, "")
    for name, function in others:
        try:
            taken = function(job, samples)
        except Exception as error:  # of any library: out of memory, a window that it has no kernel for
            print(f"{job.name:26} {name:20} failed: {str(error).splitlines()[0]}")
            continue
        if taken is not None:
            tell(job, name, taken[0], f"{numpy.abs(taken[1] - ours).max():.1e}")


def main():
    program = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "voxfilt")
    words = sys.argv[2] if len(sys.argv) > 2 else ""
    if not has_gpu(program):
        print("voxfilt finds no GPU")
        return 77
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        others = rivals(folder)
        print(f"{'':26} {'':20} {'1e9/s':>9} {'differs':>10}")
        for job in jobs():
            if words in job.name:
                compare(program, job, others, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
