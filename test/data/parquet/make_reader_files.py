#!/usr/bin/env python3
"""Makes the small files that test/unit/format/test_parquet_reader.c reads, with PyArrow. Every value follows from its row number i
by a formula that the test repeats; a column holds NULL where i % 7 == 3 unless said otherwise.

usage: make_reader_files.py OUT_DIR
"""
import decimal
import sys

import pyarrow as pa
import pyarrow.parquet as pq

N = 3000
out = sys.argv[1]

def col(f, typ, nulls=True):
    return pa.array([None if nulls and i % 7 == 3 else f(i) for i in range(N)], typ)

def fid(n):
    return {b"PARQUET:field_id": str(n).encode()}

def field(name, typ, n, nullable=True):
    return pa.field(name, typ, nullable, fid(n))

def text(i):
    return "v%d" % i if i % 3 else "Straße %d, a text that is long" % (i % 50)

flat = [
    (field("b", pa.bool_(), 1), col(lambda i: i % 3 == 0, pa.bool_())),
    (field("i", pa.int32(), 2), col(lambda i: i * 3 - 4000, pa.int32())),
    (field("l", pa.int64(), 3), col(lambda i: i * 10**12 - 5, pa.int64())),
    (field("f", pa.float32(), 4), col(lambda i: i / 4, pa.float32())),
    (field("d", pa.float64(), 5), col(lambda i: i / 8 - 100, pa.float64())),
    (field("dec4", pa.decimal128(4, 2), 6), col(lambda i: decimal.Decimal(i % 9999) / 100, pa.decimal128(4, 2))),
    (field("dec9", pa.decimal128(9, 3), 7), col(lambda i: decimal.Decimal(-i * 1001) / 1000, pa.decimal128(9, 3))),
    (field("dec18", pa.decimal128(18, 0), 8), col(lambda i: decimal.Decimal(i * 10**13), pa.decimal128(18, 0))),
    (field("dec38", pa.decimal128(38, 2), 9), col(lambda i: decimal.Decimal(i - 2500) * 10**24, pa.decimal128(38, 2))),
    (field("date", pa.date32(), 10), col(lambda i: i - 2000, pa.date32())),
    (field("time", pa.time64("us"), 11), col(lambda i: i * 1000003, pa.time64("us"))),
    (field("ts", pa.timestamp("us"), 12), col(lambda i: i * 86400000001 - 10**15, pa.timestamp("us"))),
    (field("tstz", pa.timestamp("us", "UTC"), 13), col(lambda i: i * 3600000000, pa.timestamp("us", "UTC"))),
    (field("ts_ms", pa.timestamp("ms"), 14), col(lambda i: i * 1001 - 10**6, pa.timestamp("ms"))),
    (field("ts_ns", pa.timestamp("ns"), 15), col(lambda i: i * 1001 - 10**6, pa.timestamp("ns"))),
    (field("s", pa.string(), 16), col(text, pa.string())),
    (field("u", pa.binary(16), 17), col(lambda i: bytes([i & 255]) + i.to_bytes(15, "big"), pa.binary(16))),
    (field("fx", pa.binary(3), 18), col(lambda i: bytes([i & 255, i >> 8, 7]), pa.binary(3))),
    (field("bin", pa.binary(), 19), col(lambda i: bytes([i & 255] * (i % 20)), pa.binary())),
    (field("id", pa.int64(), 20, nullable=False), col(lambda i: i, pa.int64(), nulls=False)),
    (field("u32", pa.uint32(), 21), col(lambda i: 2**32 - 1 - i, pa.uint32())),
    (field("h", pa.float16(), 22), col(lambda i: float(i % 2048) / 2, pa.float16())),
]
flat_schema = pa.schema([f for f, _ in flat])
flat_table = pa.Table.from_arrays([a for _, a in flat], schema=flat_schema)

def write(name, table, **kw):
    kw.setdefault("compression", "zstd")
    kw.setdefault("data_page_size", 4000)
    kw.setdefault("write_batch_size", 100)
    pq.write_table(table, "%s/%s.parquet" % (out, name), store_schema=False, **kw)

write("flat", flat_table, row_group_size=2200, write_page_checksum=True)
write("flat_v2", flat_table, data_page_version="2.0", use_dictionary=False, compression="snappy", write_page_index=True)
# Dictionaries that overflow after a few pages.
write("fallback", flat_table.select(["l", "s", "id"]), dictionary_pagesize_limit=3000, use_dictionary=True)
# INT96.
write("int96", flat_table.select(["ts", "id"]), use_deprecated_int96_timestamps=True)
# No field ids.
write("no_ids", pa.table({"s": flat[15][1], "l": flat[2][1]}), row_group_size=1500)

for name, encoding, columns in [
    ("delta", "DELTA_BINARY_PACKED", ["i", "l", "date", "tstz", "id"]),
    ("lengths", "DELTA_LENGTH_BYTE_ARRAY", ["s", "bin"]),
    ("prefixes", "DELTA_BYTE_ARRAY", ["s", "bin", "fx", "u"]),
    ("split", "BYTE_STREAM_SPLIT", ["i", "l", "f", "d", "dec38", "u", "h"]),
]:
    t = flat_table.select(columns)
    for version in ("1.0", "2.0"):
        write("%s_v%s" % (name, version[0]), t, use_dictionary=False, column_encoding={c: encoding for c in columns},
              data_page_version=version, compression="lz4" if version == "1.0" else "gzip")
write("rle_bool", flat_table.select(["b", "id"]), use_dictionary=False, column_encoding={"b": "RLE", "id": "PLAIN"},
      data_page_version="2.0", compression="brotli")

# Nested. Row i: point is NULL at i % 5 == 1, else {x: i, y: NULL at i % 7 == 3 else "yi"}; tags is NULL at i % 6 == 2, else i % 4
# texts "ti.k" (NULL where (i + k) % 9 == 4); items: i % 3 structs {n: i * 10 + k, w: k / 2}; props: i % 3 entries "pk" -> i + k
# (NULL where i % 10 == 7); grid: i % 3 lists of (i + j) % 3 numbers i + j + k.
point = pa.struct([field("x", pa.int32(), 11, False), field("y", pa.string(), 12)])
item = pa.struct([field("n", pa.int64(), 31), field("w", pa.float64(), 32)])
nested = pa.schema([
    field("id", pa.int64(), 1, False),
    field("point", point, 2),
    field("tags", pa.list_(field("element", pa.string(), 21)), 3),
    field("items", pa.list_(field("element", item, 30)), 4),
    field("props", pa.map_(field("key", pa.string(), 41, False), field("value", pa.int32(), 42)), 5),
    field("grid", pa.list_(field("element", pa.list_(field("element", pa.int32(), 52)), 51)), 6),
])
rows = []
for i in range(N):
    rows.append({
        "id": i,
        "point": None if i % 5 == 1 else {"x": i, "y": None if i % 7 == 3 else "y%d" % i},
        "tags": None if i % 6 == 2 else [None if (i + k) % 9 == 4 else "t%d.%d" % (i, k) for k in range(i % 4)],
        "items": [{"n": i * 10 + k, "w": k / 2} for k in range(i % 3)],
        "props": [("p%d" % k, None if i % 10 == 7 else i + k) for k in range(i % 3)],
        "grid": [[i + j + k for k in range((i + j) % 3)] for j in range(i % 3)],
    })
nested_table = pa.Table.from_pylist(rows, schema=nested)
write("nested", nested_table, row_group_size=2300)
write("nested_v2", nested_table, data_page_version="2.0", use_dictionary=False)

# Column s, marked as text, with bytes that are not UTF-8: Latin-1, and a character cut in two by a value boundary (as a whole
# the bytes are valid). One file for each way text is stored.
bad = [b"plain", "caf\u00e9".encode("latin-1"), b"", b"x"]
cut = [b"caf\xc3", b"\xa9", b"", b"x"]
for k, (values, kw) in enumerate([
    (bad, dict(use_dictionary=True)),
    (bad, dict(use_dictionary=False)),
    (cut, dict(use_dictionary=False, column_encoding={"s": "DELTA_LENGTH_BYTE_ARRAY"})),
    (bad, dict(use_dictionary=False, column_encoding={"s": "DELTA_BYTE_ARRAY"})),
    (cut, dict(use_dictionary=True)),
]):
    binary = pa.array(values, pa.binary())
    s = pa.StringArray.from_buffers(len(values), binary.buffers()[1], binary.buffers()[2])
    write("bad_text_%d" % k, pa.table({"s": s}), compression="none", **kw)

# Nanoseconds around 1970, which become microseconds by rounding down (test/cli).
ns = pa.timestamp("ns")
zone = [-1, -1001, -1999, 0, 1, 1999, -1000, None]
write("nanos_zone", pa.table({"i": list(range(8)), "z": pa.array(zone, pa.timestamp("ns", tz="UTC")), "n": pa.array(zone, ns),
                              "l": pa.array([[v] for v in zone], pa.list_(pa.timestamp("ns", tz="UTC")))}))
write("nanos", pa.table({"n": pa.array([-1, -1001, 1, None], ns), "l": pa.array([[-1], [None], [], None], pa.list_(ns)),
                         "s": pa.array([{"x": -1000}, {"x": -999}, {"x": None}, None], pa.struct([("x", ns)]))}))
