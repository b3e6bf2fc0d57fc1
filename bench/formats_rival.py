"""A Gaussian of a NIfTI file by the libraries of others, for bench/formats.sh, and how far results are apart.

formats_rival.py scipy IN SIGMA OUT      nibabel and scipy.ndimage, in f32
formats_rival.py c3d IN SIGMA OUT        Convert3D, as picsl-c3d brings it to Python
formats_rival.py difference A B MARGIN   the largest difference of samples, and how many differ, MARGIN off the border
"""
import sys

import nibabel
import numpy


def by_scipy(source, sigma, target):
    from scipy import ndimage

    image = nibabel.load(source)
    samples = numpy.asarray(image.dataobj)
    result = ndimage.gaussian_filter(samples.astype("f4"), float(sigma), mode="reflect", truncate=4.0)
    nibabel.save(nibabel.Nifti1Image(numpy.rint(result).astype(samples.dtype), image.affine, image.header), target)


def by_c3d(source, sigma, target):
    import picsl_c3d

    picsl_c3d.Convert3D().execute(f"{source} -smooth-fast {sigma}vox -round -type ushort -o {target}")


def difference(one, other, margin):
    inner = (slice(int(margin), -int(margin) or None),) * 3
    a, b = (numpy.asarray(nibabel.load(path).dataobj)[inner].astype("f8") for path in (one, other))
    apart = numpy.abs(a - b)
    print(f"largest difference {apart.max():g}, {100 * numpy.mean(apart > 0):.4f} % of samples differ")


{"scipy": by_scipy, "c3d": by_c3d, "difference": difference}[sys.argv[1]](*sys.argv[2:])
