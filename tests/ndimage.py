"""The table of voxfilt(7), section SCIPY, held against scipy.ndimage: every row, with every edge mode that both have;
and bilateral, which scipy does not have, against a loop over its window.

Prints a line for each, "STATUS NAME", for the script of cases that runs it.
"""
import functools
import itertools
import os
import re
import shlex
import subprocess
import sys

import numpy
from scipy import ndimage

TOLERANCE = 1e-12  # of the largest sample, as the page says
EDGES = ["reflect", "mirror", "nearest", "wrap", "constant", "constant:3"]
SHAPES = [(6, 9, 13), (1, 2, 5), (7, 8, 17)]  # z, y, x
RODS = [(1,), (2,), (7,), (8,), (131,)]
OF_WINDOWS = [  # of samples within a radius; other expressions than the table has
    ("median_filter(a, footprint=ball(a, 2))", "-f median:2,ball"),
    ("rank_filter(a, 1, footprint=ball(a, 1))", "-f order:1,1,ball"),
    ("maximum_filter(a, footprint=ball(a, 3))", "-f max:3,ball"),
    ("percentile_filter(a, 100, 3)", "-f percentile:1,100"),
    ("percentile_filter(a, 70, footprint=ball(a, 2))", "-f percentile:2,70,ball"),
    ("minimum_filter(a, 21)", "-f min:10"),
    ("grey_dilation(a, footprint=ball(a, 2))", "-f dilate:2,ball"),
    ("grey_closing(a, footprint=ball(a, 2))", "-f close:2,ball"),
    ("white_tophat(a, footprint=ball(a, 1))", "-f tophat:1,ball"),
    ("black_tophat(a, footprint=ball(a, 2))", "-f blackhat:2,ball"),
    ("median_filter(a, 7)", "-f median:3"),
]
OF_RODS = [  # what the table has for three axes
    ("correlate(a, [1, 2, 3])", "-f matrix:1,2,3"),
    ("convolve(a, [1, 2, 3])", "-f matrix:1,2,3 --flip"),
    ("correlate(a, [-1, 3, -1])", "-f sharpen"),
    ("sobel(a)", "-f sobel:x"),
    ("prewitt(a)", "-f prewitt:x"),
    ("gaussian_filter(a, 2, order=1)", "-f gauss:2,order=1"),
    ("gaussian_filter(a, 2, order=3)", "-f gauss:2,order=3"),
    ("a + 0.5 * laplace(a)", "-f heat --dt 0.5 -s 1"),
]

drawn = itertools.count()


def table(page):
    """The rows: an expression of scipy.ndimage, and options of voxfilt."""
    section = re.search(r"^\.SH SCIPY\n(.*?)^\.SH ", page, re.MULTILINE | re.DOTALL).group(1)
    for tag, body in re.findall(r"^\.TP\n(.*)\n(.*)$", section, re.MULTILINE):
        yield [re.sub(r"\\f[BIR]", "", text).replace("\\-", "-").replace("\\(dq", '"') for text in (tag, body)]


def ball(samples, radius):
    return sum(offset**2 for offset in numpy.ogrid[(slice(-radius, radius + 1),) * samples.ndim]) <= radius**2


def by_scipy(expression, samples, edge):
    mode, _, value = edge.partition(":")
    names = {
        name: functools.partial(getattr(ndimage, name), mode=mode, cval=float(value or 0))
        if hasattr(ndimage, name) else getattr(numpy, name)
        for name in re.findall(r"\w+(?=\()", expression)
        if name != "ball"
    }
    return eval(expression, {"a": samples, "ball": ball, **names})


def by_voxfilt(options, samples, edge):
    extents = ",".join(map(str, reversed(samples.shape)))
    command = [os.environ["VOXFILT"], "-d", extents, "-t", "f64", "-e", edge]
    run = subprocess.run(command + shlex.split(options), input=samples.tobytes(), stdout=subprocess.PIPE, check=True)
    return numpy.frombuffer(run.stdout).reshape(samples.shape)


def bilateral(samples, distance, difference, edge):
    mode, _, value = edge.partition(":")
    mode = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge"}.get(mode, mode)
    reach = int(2 * distance + 0.5)
    padded = numpy.pad(samples, reach, mode, **({"constant_values": float(value or 0)} if mode == "constant" else {}))
    total, weights = numpy.zeros(samples.shape), numpy.zeros(samples.shape)
    for offsets in itertools.product(range(-reach, reach + 1), repeat=samples.ndim):
        there = padded[tuple(slice(reach + o, reach + o + n) for o, n in zip(offsets, samples.shape))]
        square = sum(o * o for o in offsets) / distance**2 + (there - samples) ** 2 / difference**2
        total += numpy.exp(-0.5 * square) * there
        weights += numpy.exp(-0.5 * square)
    return total / weights


def agree_bilaterally(distance, difference, edge, shape):
    samples = numpy.random.default_rng(5).uniform(-100, 100, shape)
    ours = by_voxfilt(f"-f bilateral:{distance},{difference}", samples, edge)
    theirs = bilateral(samples, distance, difference, edge)
    return numpy.abs(ours - theirs).max() <= TOLERANCE * numpy.abs(samples).max()


def agree(expression, options, edge, shapes):
    random = numpy.random.default_rng(5)
    for shape in shapes:
        # Under mirror, scipy 1.17 reads wrong samples of a rod that is much shorter than a window.
        if shape in [(1,), (2,)] and edge == "mirror" and re.search("median|rank|percentile", expression):
            continue
        samples = random.uniform(-100, 100, shape)
        ours, theirs = by_voxfilt(options, samples, edge), by_scipy(expression, samples, edge)
        if not numpy.abs(ours - theirs).max() <= TOLERANCE * numpy.abs(samples).max():
            return False
    return True


def judge(name, agrees, *given):
    """Print 0 or 1 and the name of a case, if it is its turn: a thinned run takes one in VOXFILT_THIN."""
    if next(drawn) % int(os.environ.get("VOXFILT_THIN") or 1) == 0:
        print(0 if agrees(*given) else 1, name)


def main():
    with open(os.path.join(os.environ["top_srcdir"], "man", "voxfilt.7"), encoding="utf-8") as page:
        rows = list(table(page.read()))
    for expression, options in rows:
        for edge in EDGES:
            # scipy takes these in passes of another order, between which it puts the value around the derivative.
            if edge == "constant:3" and re.search("sobel|prewitt|order=|gaussian_laplace|magnitude", expression):
                continue
            judge(f"{expression} is {options}, {edge}", agree, expression, options, edge, SHAPES)
    for (expression, options), edge in itertools.product(OF_WINDOWS, EDGES):
        judge(f"{expression} is {options}, {edge}", agree, expression, options, edge, SHAPES + RODS)
    of_rods = OF_RODS + [row for row in rows if not re.search(r"axis|order|\[|\(a, \(", row[0])]
    for (expression, options), edge in itertools.product(of_rods, EDGES):
        judge(f"one axis: {expression} is {options}, {edge}", agree, expression, options, edge, RODS)
    windows = [(0.3, 50), (1, 20), (1.7, 90)]
    for (distance, difference), edge in itertools.product(windows, EDGES):
        for shape in [*SHAPES, (1, 1, 3), (7, 13), (3, 1), *RODS]:
            judge(f"bilateral:{distance},{difference} of {shape} is a loop, {edge}",
                  agree_bilaterally, distance, difference, edge, shape)
    return 0 if len(rows) >= 10 else 1


sys.exit(main())
