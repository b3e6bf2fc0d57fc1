"""OpenCV on a picture, for bench/png_rivals.sh: opencv_rival.py copy|matrix IN OUT."""
import sys

import cv2
import numpy

what, source, target = sys.argv[1:]
picture = cv2.imread(source, cv2.IMREAD_UNCHANGED)
if what == "matrix":
    weights = numpy.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], "f4") / 16
    picture = cv2.filter2D(picture, -1, weights, borderType=cv2.BORDER_REFLECT)
cv2.imwrite(target, picture)
