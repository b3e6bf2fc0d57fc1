"""scipy.ndimage on a cube of f32, in memory, for bench/volume_rivals.sh, where the figures are explained.

scipy_rival.py run JOB IN EXTENT OUT            JOB: heat or gauss; prints the seconds of computing alone
scipy_rival.py error JOB IN EXTENT OUT MARGIN   the largest error of OUT against scipy in f64
"""
import sys
import time

import numpy
from scipy import ndimage

STEPS = 20
SIGMA = 1.5
PLANES = 64  # that errors are looked for in: the first ones


def heat(volume):
    weights = numpy.zeros((3, 3, 3))
    weights[1, 1, :] = weights[1, :, 1] = weights[:, 1, 1] = 0.125
    weights[1, 1, 1] = 1 - 6 * 0.125
    for _ in range(STEPS):
        volume = ndimage.correlate(volume, weights, mode="reflect")
    return volume


def gauss(volume):
    return ndimage.gaussian_filter(volume, SIGMA, mode="reflect", truncate=4.0)


JOBS = {"heat": (heat, STEPS), "gauss": (gauss, int(4 * SIGMA + 0.5))}  # and how far a sample reaches


def load(name, extent):
    return numpy.memmap(name, "f4", "r", shape=(extent, extent, extent))


def run(job, source, extent, target):
    volume = numpy.fromfile(source, "f4").reshape(extent, extent, extent)
    begun = time.monotonic()
    result = JOBS[job][0](volume)
    print(f"{time.monotonic() - begun:.3f}")
    result.tofile(target)


def error(job, source, extent, target, margin):
    function, reach = JOBS[job]
    exact = function(load(source, extent)[: PLANES + reach].astype("f8"))[:PLANES]
    inner = numpy.s_[margin:, margin : extent - margin, margin : extent - margin]
    print(f"{numpy.abs(exact[inner] - load(target, extent)[:PLANES][inner]).max():.2e}")


if sys.argv[1] == "run":
    run(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
else:
    error(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5], int(sys.argv[6]))
