"""Texts of an SVG of ours: texts.py FILE fails unless the file is well-formed XML, all its texts lie within the drawing, and
none lies on another; it prints the texts, and the numbers of boxes (a chart's bars), dots and dashed lines."""
import sys
import xml.etree.ElementTree

LETTER, ABOVE, BELOW = 7.8, 10, 3
SVG = '{http://www.w3.org/2000/svg}'

root = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
width, height = float(root.get('width')), float(root.get('height'))
places = []
for text in root.iter(SVG + 'text'):
    length = len(text.text) * LETTER
    left = float(text.get('x')) - {'start': 0, 'middle': length / 2, 'end': length}[text.get('text-anchor')]
    place = (left, float(text.get('y')) - ABOVE, left + length, float(text.get('y')) + BELOW)
    assert place[0] >= 0 and place[1] >= 0 and place[2] <= width and place[3] <= height, (text.text, place)
    for other, name in places:
        apart = place[0] >= other[2] or place[2] <= other[0] or place[1] >= other[3] or place[3] <= other[1]
        assert apart, (text.text, name)
    places.append((place, text.text))
    print(text.text)
print('boxes', sum(1 for box in root.iter(SVG + 'rect')) - 1)
print('dots', sum(1 for dot in root.iter(SVG + 'circle')))
print('dashed', sum(1 for line in root.iter(SVG + 'line') if line.get('stroke-dasharray')))
