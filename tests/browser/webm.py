"""A WebM video made of single pictures: as much of Matroska as a player needs to seek in it
by its index, which is at the end. It must never know where the pictures come from."""
import struct

# Element ids, RFC 9559.
EBML, SEGMENT, SEEK_HEAD, SEEK, INFO, TRACKS, TRACK, CUES, CUE, CLUSTER = (
    0x1A45DFA3, 0x18538067, 0x114D9B74, 0x4DBB, 0x1549A966, 0x1654AE6B, 0xAE, 0x1C53BB6B, 0xBB,
    0x1F43B675)
MILLISECOND = 10**6
VOID = 0xEC


def number(value):
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), 'big')


def length(value):
    """Always of 8 bytes, so that places do not depend on lengths."""
    return (1 << 56 | value).to_bytes(8, 'big')


def element(name, *parts):
    """parts: numbers, texts, and elements as bytes."""
    body = b''.join(part if isinstance(part, bytes) else part.encode()
                    if isinstance(part, str) else number(part) for part in parts)
    return number(name) + length(len(body)) + body


def void_head(size):
    """Of so many bytes that mean nothing, behind it."""
    return number(VOID) + length(size)


def vp8_of(webp):
    """The key frame that a lossy WebP picture holds."""
    assert webp[:4] == b'RIFF' and webp[8:12] == b'WEBP'
    at = 12
    while webp[at:at + 4] != b'VP8 ':
        assert at < len(webp), 'a picture without VP8'
        at += 8 + (struct.unpack_from('<I', webp, at + 4)[0] + 1 & ~1)
    return webp[at + 8:at + 8 + struct.unpack_from('<I', webp, at + 4)[0]]


def cluster(frame, at_ms):
    block = b'\x81\0\0\x80' + frame              # track 1, at the cluster's time, a key frame
    return element(CLUSTER, element(0xE7, at_ms), element(0xA3, block))


def heads(width, height, duration_ms):
    info = element(INFO, element(0x2AD7B1, MILLISECOND),
                   element(0x4489, struct.pack('>d', duration_ms)),
                   element(0x4D80, 'tests'), element(0x5741, 'tests'))
    video = element(0xE0, element(0xB0, width), element(0xBA, height))
    track = element(TRACK, element(0xD7, 1), element(0x73C5, 1), element(0x83, 1),
                    element(0x86, 'V_VP8'), video)
    return info, element(TRACKS, track)


def seek_head(*places):
    """Of the same length whatever the places are."""
    return element(SEEK_HEAD, *(element(SEEK, element(0x53AB, name),
                                        element(0x53AC, place.to_bytes(8, 'big')))
                                for name, place in places))


def cues(places, interval_ms):
    return element(CUES, *(element(CUE, element(0xB3, i * interval_ms),
                                   element(0xB7, element(0xF7, 1), element(0xF1, place)))
                           for i, place in enumerate(places)))


def write(path, frames, width, height, interval_ms, padding):
    """A picture each interval_ms, and behind each a hole of padding bytes."""
    info, tracks = heads(width, height, interval_ms * len(frames))
    clusters = [cluster(frame, i * interval_ms) for i, frame in enumerate(frames)]
    first = len(seek_head((INFO, 0), (TRACKS, 0), (CUES, 0)))
    place = first + len(info) + len(tracks)
    places = []
    for data in clusters:
        places.append(place)
        place += len(data) + len(void_head(padding)) + padding
    index = cues(places, interval_ms)
    with open(path, 'wb') as file:
        file.write(element(EBML, element(0x4286, 1), element(0x42F7, 1), element(0x42F2, 4),
                           element(0x42F3, 8), element(0x4282, 'webm'), element(0x4287, 2),
                           element(0x4285, 2)))
        file.write(number(SEGMENT) + length(place + len(index)))
        file.write(seek_head((INFO, first), (TRACKS, first + len(info)), (CUES, place)))
        file.write(info + tracks)
        for data in clusters:
            file.write(data + void_head(padding))
            file.seek(padding, 1)
        file.write(index)
