"""Pixels of a PNG of 8-bit gray or RGB, told by nothing of ours: pixels.py FILE X,Y... prints the colour of each of these
pixels, as RRGGBB on a line; pixels.py --pnm FILE... writes each file as FILE.pnm."""
import struct
import sys
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        size, = struct.unpack('>I', data[at:at + 4])
        yield data[at + 4:at + 8], data[at + 8:at + 8 + size]
        at += size + 12


def nearest(left, up, corner):
    distances = [abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)]
    return (left, up, corner)[distances.index(min(distances))]


def unfilter(kind, row, above, step):
    for i in range(len(row)):
        left = row[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        guess = (0, left, above[i], (left + above[i]) // 2, nearest(left, above[i], corner))[kind]
        row[i] = (row[i] + guess) & 255
    return row


def picture(path):
    data = open(path, 'rb').read()
    assert data[:8] == b'\x89PNG\r\n\x1a\n', 'no PNG'
    header = next(body for name, body in chunks(data) if name == b'IHDR')
    width, height, depth, colour = struct.unpack('>IIBB', header[:10])
    step = {0: 1, 2: 3}[colour]
    assert depth == 8 and header[12] == 0
    packed = zlib.decompress(b''.join(body for name, body in chunks(data) if name == b'IDAT'))
    size = width * step
    rows, above = [], bytes(size)
    for y in range(height):
        line = packed[y * (size + 1):(y + 1) * (size + 1)]
        above = unfilter(line[0], bytearray(line[1:]), above, step)
        rows.append(above)
    return step, rows


def write_pnm(path):
    step, rows = picture(path)
    with open(path + '.pnm', 'wb') as out:
        out.write(b'P%d\n%d %d\n255\n' % (6 if step == 3 else 5, len(rows[0]) // step, len(rows)) + b''.join(rows))


def main():
    if sys.argv[1] == '--pnm':
        for path in sys.argv[2:]:
            write_pnm(path)
        return
    step, rows = picture(sys.argv[1])
    for place in sys.argv[2:]:
        x, y = map(int, place.split(','))
        pixel = rows[y][x * step:(x + 1) * step]
        print((pixel * (3 // step)).hex())


main()
