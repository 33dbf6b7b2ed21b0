"""Changes that break a file or a message, and only depend on the random numbers."""

import json
import struct

# Values for sizes, offsets and counts.
EDGES = (0, 1, 2, 127, 128, 255, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62)
EDGES += (2**63 - 1, 2**63, 2**64 - 1)
SNIPPETS = (
    *(b"\0", b"\n", b"\r\n", b"\r", b"\t", b" ", b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3", b"\x80"),
    *(b"\x1f\x8b\x08", b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b"version https://git-lfs"),
    *(b"NaN", b"-Infinity", b"1e400", b"-1", b"99999999999999999999", b'"', b"'", b"\\", b"{}"),
    *(b"[" * 3_000, b"(" * 300, b'{"a":' * 1_500, b"-" * 3_000, b"0" * 5_000, b"A" * 70_000),
    *(b"\\ud800", "\u2028".encode(), "\U0001f600".encode(), b"\xed\xa0\x80", b"../", b"%00"),
    *(b"<S>", b"<UNK>", b"[PAD]", b"-DOCSTART-", b"B-X", b"I-", b"O", b"!!!MAXTERMID"),
)
# Placeholders for bytes that `json.dumps` cannot write.
RAW = {
    "@deep@": b"[" * 100_000 + b"]" * 100_000,
    "@half deep@": b'{"a":' * 900 + b"1" + b"}" * 900,
    "@digits@": b"9" * 5_000,
    "@twice@": b'{"a": 1, "a": 2}',
    "@exponent@": b"1e400",
}
HOSTILE_VALUES = (
    *RAW,
    *(None, True, False, 0, 1, -1, 2, 3, 7, 255, 2**24, 2**24 + 1, 2**31, 2**63, 2**64, 10**30),
    *(0.0, -0.5, 0.5, 1.5, 1e-320, 1e308, float("inf"), float("-inf"), float("nan")),
    *("", " ", "x", "\0", "\ud800", "é", "a\nb", "../x", "/etc/passwd", "x" * 5_000, "9" * 400),
    *([], {}, [[]], [1], [[1, 8]], [[2**24, 2**24]], [None], ["x", "x"], {"a": 1}, {"": {}}),
)


def mutated(data, random):
    """Returns the bytes with one or more changes."""
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        data = random.choice(CHANGES)(data, random)
    return data


def mutated_json(value, random):
    """Returns a JSON document in UTF-8 with some changed values, and sometimes changed bytes."""
    for _ in range(random.choice([0, 1, 1, 1, 2, 4])):
        value = changed_value(value, random)
    data = json.dumps(value, ensure_ascii=random.random() < 0.8).encode("utf-8", "surrogatepass")
    for name, raw in RAW.items():
        data = data.replace(f'"{name}"'.encode(), raw)
    return mutated(data, random) if random.random() < 0.2 else data


def changed_value(value, random):
    """Returns a copy of a JSON value with a hostile change inside."""
    inside = isinstance(value, dict | list) and value and random.random() < 0.92
    if not inside:
        return replacement(value, random)
    copy = value.copy()
    keys = list(copy) if isinstance(copy, dict) else range(len(copy))
    key = keys[random.randrange(len(keys))]
    what = random.random()
    if what < 0.1:
        del copy[key]
    elif what < 0.2 and isinstance(copy, dict):
        copy[random.choice([key + "x", "", "é", key.upper()])] = copy.pop(key)
    elif what < 0.2:
        copy.insert(key, random.choice([copy[key], replacement(None, random)]))
    else:
        copy[key] = changed_value(copy[key], random)
    return copy


def replacement(value, random):
    """Returns a hostile replacement for a JSON value."""
    if random.random() < 0.1:
        for _ in range(random.choice([1, 2, 40])):
            value = [value]
        return value
    if type(value) is int and random.random() < 0.5:
        return value + random.choice([-1, 1, 2**8, 2**16, 2**32])
    return random.choice(HOSTILE_VALUES)


def place(data, random):
    """Returns an offset, often near the beginning or end, where formats have their metadata."""
    size, near = len(data), random.random()
    if near < 0.35:
        return random.randrange(min(size, 512) + 1)
    if near < 0.5:
        return size - random.randrange(min(size, 512) + 1)
    return random.randrange(size + 1)


def flip_bits(data, random):
    found = bytearray(data)
    for _ in range(random.choice([1, 1, 4, 32])):
        if found:
            found[min(place(data, random), len(found) - 1)] ^= 1 << random.randrange(8)
    return bytes(found)


def set_bytes(data, random):
    start, size = place(data, random), random.choice([1, 2, 4, 8, 64])
    filler = random.choice([b"\0", b"\xff", b"\x7f", b"\x80", b" ", None])
    new = random.randbytes(size) if filler is None else filler * size
    return data[:start] + new + data[start + size :]


def cut_end(data, random):
    return data[: place(data, random)]


def cut_middle(data, random):
    start = place(data, random)
    return data[:start] + data[start + random.choice([1, 2, 8, 64, 1_024]) :]


def insert(data, random):
    start = place(data, random)
    new = random.choice([random.choice(SNIPPETS), random.randbytes(random.choice([1, 4, 64]))])
    return data[:start] + new + data[start:]


def repeat(data, random):
    start, size = place(data, random), random.choice([1, 8, 64, 512])
    block = data[start : start + size]
    return data[:start] + block * random.choice([2, 3, 50]) + data[start + size :]


def swap_blocks(data, random):
    size = random.choice([1, 4, 16, 256])
    first, second = sorted([place(data, random), place(data, random)])
    if second < first + size:
        return data
    parts = data[:first], data[second : second + size], data[first + size : second]
    return b"".join([*parts, data[first : first + size], data[second + size :]])


def edit_number(data, random):
    """Replaces one to eight bytes by another number, which may be a size, offset or count."""
    form = random.choice(["<B", "<H", "<I", "<Q", ">H", ">I", ">Q"])
    size = struct.calcsize(form)
    start = place(data, random)
    start -= start % random.choice([1, size])
    old = data[start : start + size]
    if len(old) < size:
        return data
    number = struct.unpack(form, old)[0] + random.choice([-1, 1, 2, -8, 256])
    number = random.choice([number, random.choice(EDGES)]) % 2 ** (8 * size)
    return data[:start] + struct.pack(form, number) + data[start + size :]


def edit_digits(data, random):
    """Replaces a number in text."""
    start = place(data, random)
    while start < len(data) and not 48 <= data[start] <= 57:
        start += 1
    end = start
    while end < len(data) and 48 <= data[end] <= 57:
        end += 1
    edges = [*EDGES, -1, "1e999", "NaN", "0x10", "٣", "", "1_000", "00", 10**40]
    return data[:start] + str(random.choice(edges)).encode() + data[end:]


CHANGES = (
    *(flip_bits, set_bytes, cut_end, cut_middle, insert, repeat, swap_blocks),
    *(edit_number, edit_number, edit_digits),
)
