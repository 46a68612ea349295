"""The smallest Parquet file: flat optional columns, one row group, one PLAIN page a column, no compression. For delete files made by hand."""
import io
import struct

from avro import write_long

BOOLEAN, INT32, INT64, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = 0, 1, 2, 4, 5, 6, 7


class Struct:
    """A struct of Thrift's compact protocol, fields in order."""

    def __init__(self):
        self.out, self.last = io.BytesIO(), 0

    def head(self, id_, kind):
        self.out.write(bytes([(id_ - self.last) << 4 | kind]))
        self.last = id_

    def number(self, id_, n, kind=5):
        self.head(id_, kind)
        write_long(self.out, n)
        return self

    def flag(self, id_, value):
        self.head(id_, 1 if value else 2)
        return self

    def text(self, id_, data):
        self.head(id_, 8)
        put_bytes(self.out, data)
        return self

    def struct(self, id_, inner):
        self.head(id_, 12)
        self.out.write(inner.bytes())
        return self

    def list(self, id_, kind, items):
        self.head(id_, 9)
        self.out.write(bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind]) + varint(len(items)))
        for item in items:
            if kind == 12:
                self.out.write(item.bytes())
            elif kind == 8:
                put_bytes(self.out, item)
            else:
                write_long(self.out, item)
        return self

    def bytes(self):
        return self.out.getvalue() + b"\0"


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def put_bytes(out, data):
    out.write(varint(len(data)) + data)


def plain(kind, values):
    if kind == BOOLEAN:
        bits = bytearray((len(values) + 7) // 8)
        for i, v in enumerate(values):
            bits[i // 8] |= bool(v) << i % 8
        return bytes(bits)
    if kind == BYTE_ARRAY:
        return b"".join(struct.pack("<i", len(v)) + v for v in values)
    if kind == FIXED:
        return b"".join(values)
    return struct.pack("<%d%s" % (len(values), {INT32: "i", INT64: "q", FLOAT: "f", DOUBLE: "d"}[kind]), *values)


def write(path, columns, n):
    """columns: (name, field id, physical type, {element number: value} of SchemaElement for the logical type ("utc": of a timestamp), values with None for NULL); file size."""
    out, chunks = io.BytesIO(b"PAR1"), []
    out.seek(0, 2)
    elements = [Struct().text(4, b"table").number(5, len(columns))]
    for name, id_, kind, extra, values in columns:
        levels = bytearray((n + 7) // 8)
        for i, v in enumerate(values):
            levels[i // 8] |= (v is not None) << i % 8
        levels = varint(len(levels) << 1 | 1) + bytes(levels)
        page = struct.pack("<i", len(levels)) + levels + plain(kind, [v for v in values if v is not None])
        header = Struct().number(1, 0).number(2, len(page)).number(3, len(page))
        header.struct(5, Struct().number(1, n).number(2, 0).number(3, 3).number(4, 3)).bytes()
        start = out.tell()
        out.write(header.bytes() + page)
        element = Struct().number(1, kind)
        if kind == FIXED:
            element.number(2, extra["length"])
        element.number(3, 1).text(4, name.encode())
        for number in (6, 7, 8):  # converted type, scale, precision
            if number in extra:
                element.number(number, extra[number])
        element.number(9, id_)
        if "utc" in extra:  # logical type TIMESTAMP in microseconds
            unit = Struct().struct(2, Struct())
            element.struct(10, Struct().struct(8, Struct().flag(1, extra["utc"]).struct(2, unit)))
        elements.append(element)
        size = out.tell() - start
        meta = Struct().number(1, kind).list(2, 5, [0, 3]).list(3, 8, [name.encode()]).number(4, 0).number(5, n, 6)
        meta.number(6, size, 6).number(7, size, 6).number(9, start, 6)
        chunks.append((Struct().number(2, start, 6).struct(3, meta), size))
    group = Struct().list(1, 12, [c for c, _ in chunks]).number(2, sum(s for _, s in chunks), 6).number(3, n, 6)
    footer = Struct().number(1, 1).list(2, 12, elements).number(3, n, 6).list(4, 12, [group]).text(6, b"frazil tests").bytes()
    out.write(footer + struct.pack("<i", len(footer)) + b"PAR1")
    with open(path, "wb") as file:
        file.write(out.getvalue())
    return len(out.getvalue())
