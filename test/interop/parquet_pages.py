"""Parquet files taken apart byte by byte: footer, pages and page indexes as Python values, and a check of every fact in them against the
rows. The Thrift compact protocol is decoded here, so that nothing is believed that a reader might gloss over."""
import datetime
import decimal
import struct

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY = 0, 2, 3, 8
DICTIONARY_PAGE, DATA_PAGE_V2 = 2, 3


class Thrift:
    def __init__(self, raw, at=0):
        self.raw, self.at = raw, at

    def byte(self):
        self.at += 1
        return self.raw[self.at - 1]

    def varint(self):
        shift = value = 0
        while True:
            b = self.byte()
            value |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return value

    def int(self):
        v = self.varint()
        return v >> 1 ^ -(v & 1)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return struct.unpack("b", bytes([self.byte()]))[0]
        if kind in (4, 5, 6):
            return self.int()
        if kind == 7:
            self.at += 8
            return struct.unpack("<d", self.raw[self.at - 8:self.at])[0]
        if kind == 8:
            n = self.varint()
            self.at += n
            return bytes(self.raw[self.at - n:self.at])
        if kind in (9, 10):
            head = self.byte()
            n, element = head >> 4, head & 15
            n = self.varint() if n == 15 else n
            return [self.byte() == 1 if element in (1, 2) else self.value(element) for _ in range(n)]
        assert kind == 12, f"Thrift type {kind}"
        return self.struct()

    def struct(self):
        fields, last = {}, 0
        while True:
            head = self.byte()
            if head == 0:
                return fields
            last = last + (head >> 4) if head >> 4 else self.int()
            fields[last] = self.value(head & 15)


class Chunk:
    """A column chunk: meta (ColumnMetaData), pages [(type, header, first row, rows, bytes)], index and offsets."""

    def __init__(self, raw, column):
        self.meta, self.index, self.offsets = column[3], None, None
        start = min(x for x in (self.meta.get(11), self.meta[9]) if x is not None)
        self.pages, at, rows = [], start, 0
        while at < start + self.meta[7]:
            t = Thrift(raw, at)
            header = t.struct()
            body = header.get(5) or header.get(7) or header.get(8)
            n = 0 if header[1] == DICTIONARY_PAGE else body[1]
            self.pages.append((header[1], body, rows, n, bytes(raw[at:t.at + header[3]]), at))
            at, rows = t.at + header[3], rows + n
        assert at == start + self.meta[7], "the pages do not fill the chunk"
        if 6 in column:
            self.index = Thrift(raw, column[6]).struct()
        if 4 in column:
            self.offsets = Thrift(raw, column[4]).struct()[1]

    @property
    def data_pages(self):
        return [p for p in self.pages if p[0] != DICTIONARY_PAGE]


class File:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            raw = f.read()
        self.footer = Thrift(raw, len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")).struct()
        self.schema = [e for e in self.footer[2]]
        self.groups = [[Chunk(raw, c) for c in g[1]] for g in self.footer[4]]
        self.rows = [g[3] for g in self.footer[4]]
        self.parquet = pq.ParquetFile(path, page_checksum_verification=True)


def plain_bytes(v, t):
    """A value as statistics hold it."""
    if pa.types.is_decimal(t):
        unscaled = int(v.scaleb(t.scale, decimal.Context(prec=60)))
        return unscaled
    if isinstance(v, datetime.datetime):
        return (v.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    if isinstance(v, datetime.date):
        return (v - datetime.date(1970, 1, 1)).days
    return v.encode() if isinstance(v, str) else v


def bound(raw, t, physical):
    if physical == 0:
        return raw != b"\x00"
    if physical in (1, 2):
        return int.from_bytes(raw, "little", signed=True)
    if physical in (4, 5):
        return struct.unpack("<f" if physical == 4 else "<d", raw)[0]
    return int.from_bytes(raw, "big", signed=True) if pa.types.is_decimal(t) else raw


def extremes(column):
    """Smallest and greatest value that is no NaN, and how many are NULL."""
    present = column.filter(pc.invert(pc.is_nan(column))) if pa.types.is_floating(column.type) else column
    ends = pc.min_max(present).as_py()
    if ends["min"] is None:
        return None, column.null_count
    return (plain_bytes(ends["min"], column.type), plain_bytes(ends["max"], column.type)), column.null_count


def facts(chunk, column, where, tight=True):
    """What is wrong with a flat column's chunk, given its values."""
    problems, m = [], chunk.meta
    physical, t, n = m[1], column.type, len(column)
    text = physical in (6, 7) and not pa.types.is_decimal(t)

    def say(what):
        problems.append(f"{where}: {what}")
    data = chunk.data_pages
    if m[5] != n or sum(p[3] for p in data) != n:
        say(f"num_values {m[5]}, pages {sum(p[3] for p in data)}, rows {n}")
    used = {p[1][2] if p[0] != DATA_PAGE_V2 else p[1][4] for p in data}
    if not used <= set(m[2]):
        say(f"encodings {m[2]}, pages have {used}")
    others = used - {PLAIN_DICTIONARY, RLE_DICTIONARY}
    if others and PLAIN_DICTIONARY in m[2] and not (set(m[2]) - {PLAIN_DICTIONARY, RLE, 4}):
        say("encodings say that all pages have dictionary indexes")
    if 13 in m:
        counted = {}
        for p in chunk.pages:
            key = (p[0], p[1][4 if p[0] == DATA_PAGE_V2 else 2])
            counted[key] = counted.get(key, 0) + 1
        if {(s[1], s[2]): s[3] for s in m[13]} != counted:
            say(f"encoding_stats {m[13]}, pages {counted}")
    ends, nulls = extremes(column)
    s = m.get(12, {})
    if 3 in s and s[3] != nulls:
        say(f"null_count {s[3]}, the rows have {nulls}")
    for key, exact, side in ((6, 8, 0), (5, 7, 1)):
        if key not in s:
            continue
        have = bound(s[key], t, physical)
        if ends is None:
            say("bounds without values")
        elif have > ends[0] if side == 0 else have < ends[1]:
            say(f"{'min' if side == 0 else 'max'} {have!r}, the rows have {ends[side]!r}")
        elif tight and s.get(exact, True) and have != ends[side] and not (text and len(ends[side]) > 64):
            say(f"{'min' if side == 0 else 'max'} {have!r} is not tight, the rows have {ends[side]!r}")
    if chunk.offsets is not None:
        want = [(p[5], len(p[4]), p[2]) for p in data]
        have = [(o[1], o[2], o.get(3, 0)) for o in chunk.offsets]
        if have != want:
            say("the offset index does not fit the pages")
    if chunk.index is not None:
        lows, highs = [], []
        if len(chunk.index[1]) != len(data):
            say("the column index has another number of pages")
            return problems
        for i, p in enumerate(data):
            ends, nulls = extremes(column.slice(p[2], p[3]))
            if chunk.index[1][i] != (nulls == p[3]):
                say(f"page {i}: null_pages {chunk.index[1][i]}, {nulls} of {p[3]} are NULL")
            if 5 in chunk.index and chunk.index[5][i] != nulls:
                say(f"page {i}: null_counts {chunk.index[5][i]}, the rows have {nulls}")
            if ends is not None:
                low, high = bound(chunk.index[2][i], t, physical), bound(chunk.index[3][i], t, physical)
                lows.append(low)
                highs.append(high)
                if low > ends[0] or high < ends[1] or (not text and (low, high) != ends):
                    say(f"page {i}: {low!r} to {high!r}, the rows have {ends}")
        order = chunk.index.get(4, 0)
        if order == 1 and (lows != sorted(lows) or highs != sorted(highs)) or order == 2 and (lows[::-1] != sorted(lows) or highs[::-1] != sorted(highs)):
            say(f"boundary_order {order} does not hold")
    return problems


def check(file):
    """Problems of all flat columns of a File."""
    problems = []
    for g, chunks in enumerate(file.groups):
        rows = file.parquet.read_row_group(g)
        if rows.num_rows != file.rows[g]:
            problems.append(f"row group {g}: {file.rows[g]} rows, read {rows.num_rows}")
        for c in chunks:
            path = [x.decode() for x in c.meta[3]]
            if len(path) == 1:
                problems += facts(c, rows.column(path[0]).combine_chunks(), f"{file.path.rsplit('/', 1)[-1][-20:]} row group {g} column {path[0]}")
    return problems
