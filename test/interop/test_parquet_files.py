#!/usr/bin/env python3
"""Reads the files of the Parquet writer with PyArrow, DuckDB and Polars and compares every value with formulas computed here.

usage: test_parquet_files.py PROGRAM [FOLDER]    PROGRAM is the built test_parquet_write_files

Also compared: field ids, physical and logical types, row groups and pages, statistics, page indexes, key-value metadata and the
metrics that go into Iceberg manifests (recomputed from the values).
"""
import datetime
import decimal
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import uuid

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

EPOCH = datetime.datetime(1970, 1, 1)
NAMES = ["b", "i", "l", "f", "d", "dec4", "dec9", "dec18", "dec38", "date", "time", "ts", "tstz", "ts_ns", "tstz_ns", "s", "uuid",
         "fixed", "bin", "r"]
decimal.getcontext().prec = 60
failures = []


def check(ok, text):
    if not ok:
        failures.append(text)
        print("FAIL", text)


def dec(unscaled, scale):
    return decimal.Decimal(unscaled).scaleb(-scale)


def raw_value(c, r):
    """The value as Python sees it best; times and timestamps as integers of their unit; None for NULL."""
    if c < 19 and r % (5 + c) == c % 5:
        return None
    return [
        lambda: r * 3 % 5 < 2,
        lambda: r * 7919 % 100003 - 50000,
        lambda: r * 1000000007 - 5000000000000,
        lambda: math.nan if r % 1000 == 999 else r * 0.5 - 100,
        lambda: math.nan if r % 1000 == 998 else (r % 100) * -0.25,
        lambda: dec(r % 19999 - 9999, 2),
        lambda: dec(r * 104729 % 1999999999 - 999999999, 3),
        lambda: dec(r * 10**12 - 3 * 10**16, 4),
        lambda: dec((r - 20000) * 10**33 + r, 10),
        lambda: datetime.date(1970, 1, 1) + datetime.timedelta(days=r % 40000 - 10000),
        lambda: r * 1000003 % 86400000000,
        lambda: r * 8639999999 - 100000000000000 + 11,
        lambda: r * 8639999999 - 100000000000000 + 12,
        lambda: r * 1000000007 - 1000000000 + 13,
        lambda: r * 1000000007 - 1000000000 + 14,
        lambda: f"s{r % 1000}-" + "x" * (r % 23),
        lambda: uuid.UUID(int=((r * 0x9E3779B97F4A7C15) % 2**64) << 64 | r),
        lambda: bytes((r * 31 // 7 + j * 11) % 256 for j in range(5)),
        lambda: bytes((r + j) % 256 for j in range(r % 19)),
        lambda: r,
    ][c]()


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return a == b


def compare(what, got, want):
    if len(got) != len(want):
        check(False, f"{what}: {len(got)} rows, expected {len(want)}")
        return
    for i, (a, b) in enumerate(zip(got, want)):
        if not same(a, b):
            check(False, f"{what}: row {i} is {a!r}, expected {b!r}")
            return


INT_UNITS = {"time", "ts", "tstz", "ts_ns", "tstz_ns"}


def arrow_columns(table):
    """PyArrow table to the form of raw_value."""
    out = {}
    for name in table.column_names:
        column = table.column(name)
        if name in INT_UNITS:
            column = column.cast(pa.int64())
        if name == "uuid":
            out[name] = [None if v is None else v if isinstance(v, uuid.UUID) else uuid.UUID(bytes=v) for v in column.to_pylist()]
            continue
        out[name] = column.to_pylist()
    return out


def expected_flat(rows):
    return {name: [raw_value(c, r) for r in range(rows)] for c, name in enumerate(NAMES)}


def check_flat(path, rows, want):
    what = os.path.basename(path)
    got = arrow_columns(pq.read_table(path, arrow_extensions_enabled=False))
    for name in NAMES:
        compare(f"{what} pyarrow {name}", got[name], want[name])
    con = duckdb.connect()
    con.execute("set timezone='UTC'")
    text = con.execute(
        "select b,i,l,f,d,dec4,dec9,dec18,dec38,date,epoch_us(time)::bigint,epoch_us(ts),epoch_us(tstz),epoch_ns(ts_ns),"
        f"epoch_us(tstz_ns),s,uuid,fixed,bin,r from read_parquet('{path}')").fetchall()
    for c, name in enumerate(NAMES):
        expect = want[name]
        if name == "tstz_ns":  # DuckDB has no such type and cuts to microseconds, towards zero
            expect = [None if v is None else int(dec(v, 3)) for v in expect]
        compare(f"{what} duckdb {name}", [row[c] for row in text], expect)
    frame = polars.read_parquet(path)
    check(frame.height == rows, f"{what} polars: {frame.height} rows")
    got = arrow_columns(frame.to_arrow())
    for name in NAMES:
        if name == "time":  # Polars keeps nanoseconds
            compare(f"{what} polars time", [None if v is None else v // 1000 for v in got[name]], want[name])
        elif name == "uuid" and frame.schema[name] != polars.Binary:
            continue
        else:
            compare(f"{what} polars {name}", got[name], want[name])


# ---- nested ---------------------------------------------------------------------------------------------------------------


def nested_row(r):
    s = None if r % 11 == 5 else {
        "a": None if r % 3 == 0 else r,
        "t": None if r % 4 == 1 else {"x": None if r % 5 == 2 else f"x{r}"},
    }
    lst = None if r % 7 == 6 else [None if (r + j) % 6 == 5 else r * 10 + j for j in range(r % 4)]
    ll = None if r % 9 == 8 else [None if (r + j) % 5 == 4 else [f"{r}/{j}/{k}" for k in range((r + j) % 3)] for j in range(r % 3)]
    m = None if r % 8 == 7 else [(f"k{j}", None if (r + j) % 4 == 3 else r + j) for j in range(r % 3)]
    ls = [None if (r + j) % 7 == 6 else {"p": r + j, "q": None if (r + j) % 3 == 2 else [k + 0.5 for k in range((r + j) % 2 + 1)]}
          for j in range(r % 3)]
    rl = [r * 100 + j for j in range(r % 3)]
    return {"r": r, "s": s, "l": lst, "ll": ll, "m": m, "ls": ls, "rl": rl}


def check_nested(path, rows):
    what = os.path.basename(path)
    want = [nested_row(r) for r in range(rows)]
    table = pq.read_table(path)
    for name in table.column_names:
        compare(f"{what} pyarrow {name}", table.column(name).to_pylist(), [w[name] for w in want])
    relation = duckdb.connect().execute(f"select * from read_parquet('{path}')")
    columns = [d[0] for d in relation.description]
    got = relation.fetchall()
    for c, name in enumerate(columns):
        expect = [w[name] for w in want]
        if name == "m":
            expect = [None if e is None else dict(e) for e in expect]
        compare(f"{what} duckdb {name}", [row[c] for row in got], expect)
    frame = polars.read_parquet(path)
    for name in frame.columns:
        got = frame.get_column(name).to_list()
        expect = [w[name] for w in want]
        if name == "m":
            got = [None if g is None else dict(g) if isinstance(g, dict) else {x["key"]: x["value"] for x in g} for g in got]
            expect = [None if e is None else dict(e) for e in expect]
        compare(f"{what} polars {name}", got, expect)
    # filters that need right page indexes and statistics
    con = duckdb.connect()
    n = con.execute(f"select count(*) from read_parquet('{path}') where r between 1200 and 1300").fetchone()[0]
    check(n == 101, f"{what} duckdb filter: {n}")
    n = polars.scan_parquet(path).filter(polars.col("r").is_between(1200, 1300)).collect().height
    check(n == 101, f"{what} polars filter: {n}")


# ---- text -----------------------------------------------------------------------------------------------------------------


def text_number(kind, r):
    return {0: r * 7 % 50, 3: r % 10}.get(kind, r if kind != 4 or r >= 30000 else r % 1000)


def check_text(path, kind, rows):
    what = os.path.basename(path)
    pad = "p" * 3000 if kind in (2, 3) else ""
    numbers = [text_number(kind, r) for r in range(rows)]
    want = [f"value {n:09d}" + pad for n in numbers]
    table = pq.read_table(path, page_checksum_verification=True)
    compare(f"{what} pyarrow s", table.column("s").to_pylist(), want)
    compare(f"{what} pyarrow n", table.column("n").to_pylist(), numbers)
    got = duckdb.connect().execute(f"select s,n from read_parquet('{path}', file_row_number=true) order by file_row_number").fetchall()
    compare(f"{what} duckdb s", [g[0] for g in got], want)
    compare(f"{what} duckdb n", [g[1] for g in got], numbers)
    frame = polars.read_parquet(path)
    compare(f"{what} polars s", frame.get_column("s").to_list(), want)
    compare(f"{what} polars n", frame.get_column("n").to_list(), numbers)


# ---- the file itself ------------------------------------------------------------------------------------------------------

PHYSICAL = {"b": "BOOLEAN", "i": "INT32", "l": "INT64", "f": "FLOAT", "d": "DOUBLE", "dec4": "INT32", "dec9": "INT32", "dec18": "INT64",
            "dec38": "FIXED_LEN_BYTE_ARRAY", "date": "INT32", "time": "INT64", "ts": "INT64", "tstz": "INT64", "ts_ns": "INT64",
            "tstz_ns": "INT64", "s": "BYTE_ARRAY", "uuid": "FIXED_LEN_BYTE_ARRAY", "fixed": "FIXED_LEN_BYTE_ARRAY", "bin": "BYTE_ARRAY",
            "r": "INT64"}
LOGICAL = {
    "dec4": "Decimal(precision=4, scale=2)", "dec9": "Decimal(precision=9, scale=3)", "dec18": "Decimal(precision=18, scale=4)",
    "dec38": "Decimal(precision=38, scale=10)", "date": "Date", "s": "String", "uuid": "UUID",
    "time": "Time(isAdjustedToUTC=false, timeUnit=microseconds)",
    "ts": "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds", "tstz": "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds",
    "ts_ns": "Timestamp(isAdjustedToUTC=false, timeUnit=nanoseconds", "tstz_ns": "Timestamp(isAdjustedToUTC=true, timeUnit=nanoseconds",
}
CONVERTED = {"dec4": "DECIMAL", "dec38": "DECIMAL", "date": "DATE", "s": "UTF8", "tstz": "TIMESTAMP_MICROS"}


def field_ids(field, prefix="", out=None):
    out = {} if out is None else out
    name = prefix + field.name
    out[name] = int((field.metadata or {}).get(b"PARQUET:field_id", b"-1"))
    kind = field.type
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            field_ids(kind.field(i), name + ".", out)
    elif pa.types.is_map(kind):
        field_ids(kind.key_field, name + ".", out)
        field_ids(kind.item_field, name + ".", out)
    elif pa.types.is_list(kind):
        field_ids(kind.value_field, name + ".", out)
    return out


def check_layout(folder):
    f = pq.ParquetFile(os.path.join(folder, "flat_zstd.parquet"))
    meta, schema = f.metadata, f.schema
    check(meta.created_by.startswith("frazil version 0.1.0 (build "), f"created_by {meta.created_by}")
    check(meta.metadata.get(b"delete-type") == b"position" and meta.metadata.get(b"iceberg.schema") == b"{}", f"key values {meta.metadata}")
    for c, name in enumerate(NAMES):
        column = schema.column(c)
        check(column.physical_type == PHYSICAL[name], f"{name}: physical {column.physical_type}")
        check(str(column.logical_type).startswith(LOGICAL.get(name, "None")), f"{name}: logical {column.logical_type}")
        if name in CONVERTED:
            check(column.converted_type == CONVERTED[name], f"{name}: converted {column.converted_type}")
        chunk = meta.row_group(0).column(c)
        check(chunk.has_offset_index and chunk.has_column_index, f"{name}: page index missing")
        check(chunk.compression == "ZSTD", f"{name}: codec {chunk.compression}")
    ids = {}
    for field in f.schema_arrow:
        field_ids(field, "", ids)
    check(ids == {name: c + 1 for c, name in enumerate(NAMES)}, f"field ids {ids}")
    widths = {n: schema.column(NAMES.index(n)).length for n in ("dec38", "uuid", "fixed")}
    check(widths == {"dec38": 16, "uuid": 16, "fixed": 5}, f"fixed lengths {widths}")
    nested = pq.ParquetFile(os.path.join(folder, "nested.parquet"))
    ids = {}
    for field in nested.schema_arrow:
        field_ids(field, "", ids)
    want = {"r": 1, "s": 10, "s.a": 11, "s.t": 12, "s.t.x": 13, "l": 20, "l.element": 21, "ll": 30, "ll.element": 31,
            "ll.element.element": 32, "m": 40, "m.key": 41, "m.value": 42, "ls": 50, "ls.element": 51, "ls.element.p": 52,
            "ls.element.q": 53, "ls.element.q.element": 54, "rl": 60, "rl.element": 61}
    check(ids == want, f"nested field ids {ids}")
    paths = [nested.schema.column(i).path for i in range(len(nested.schema))]
    check(paths == ["r", "s.a", "s.t.x", "l.list.element", "ll.list.element.list.element", "m.key_value.key", "m.key_value.value",
                    "ls.list.element.p", "ls.list.element.q.list.element", "rl.list.element"], f"paths {paths}")
    groups = pq.ParquetFile(os.path.join(folder, "text_1.parquet")).metadata
    check([groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [100000, 100000, 50000], "row groups of text_1")
    small = pq.ParquetFile(os.path.join(folder, "text_groups.parquet")).metadata
    check(small.num_row_groups > 1 and small.row_group(0).total_byte_size > 0, "row_group_size_bytes is not honoured")
    for i in range(small.num_row_groups - 1):
        size = sum(small.row_group(i).column(c).total_compressed_size for c in range(2))
        check(130000 < size < 250000, f"row group of {size} bytes where 200000 were asked")
    enc = pq.ParquetFile(os.path.join(folder, "text_0.parquet")).metadata.row_group(0).column(0)
    check("RLE_DICTIONARY" in enc.encodings and enc.has_dictionary_page, f"few values should use a dictionary: {enc.encodings}")
    enc = pq.ParquetFile(os.path.join(folder, "text_1.parquet")).metadata.row_group(0).column(0)
    check("RLE_DICTIONARY" not in enc.encodings and not enc.has_dictionary_page, f"distinct values should not: {enc.encodings}")
    over = pq.ParquetFile(os.path.join(folder, "text_overflow.parquet")).metadata.row_group(0).column(0)
    check(over.has_dictionary_page and "PLAIN" in over.encodings, "overflow keeps the dictionary of the first pages")


def check_statistics(path, rows, want):
    f = pq.ParquetFile(path)
    at = 0
    for g in range(f.metadata.num_row_groups):
        group = f.metadata.row_group(g)
        for c, name in enumerate(NAMES):
            values = [v for v in want[name][at:at + group.num_rows]]
            stats = group.column(c).statistics
            nulls = sum(v is None for v in values)
            check(stats is not None and stats.null_count == nulls, f"{name}: null_count {stats and stats.null_count}, expected {nulls}")
            present = [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]
            if name in ("tstz", "ts", "ts_ns", "tstz_ns", "time"):
                continue  # compared as raw bytes through the metrics below
            if not present:
                check(not stats.has_min_max, f"{name}: min/max of nothing")
                continue
            lo, hi = min(present), max(present)
            got_lo, got_hi = stats.min, stats.max
            if name == "uuid":
                got_lo, got_hi = uuid.UUID(bytes=got_lo), uuid.UUID(bytes=got_hi)
            if isinstance(lo, float):
                lo = -0.0 if lo == 0 else lo
                hi = 0.0 if hi == 0 else hi
            check(same(got_lo, lo) and same(got_hi, hi), f"{name}: statistics {got_lo!r}..{got_hi!r}, expected {lo!r}..{hi!r}")
        at += group.num_rows
    check(at == rows, f"{path}: {at} rows in row groups")


def bound_bytes(name, v):
    if name == "b":
        return bytes([v])
    if name in ("i",):
        return struct.pack("<i", v)
    if name == "date":
        return struct.pack("<i", (v - datetime.date(1970, 1, 1)).days)
    if name in ("l", "r") or name in INT_UNITS:
        return struct.pack("<q", v)
    if name == "f":
        return struct.pack("<f", v)
    if name == "d":
        return struct.pack("<d", v)
    if name.startswith("dec"):
        unscaled = int(v.scaleb({"dec4": 2, "dec9": 3, "dec18": 4, "dec38": 10}[name]))
        n = 1
        while not -(1 << (8 * n - 1)) <= unscaled < 1 << (8 * n - 1):
            n += 1
        return unscaled.to_bytes(n, "big", signed=True)
    if name == "s":
        return v.encode()
    if name == "uuid":
        return v.bytes
    return v


def truncated(name, v, upper):
    raw = bound_bytes(name, v)
    if name not in ("s", "bin") or len(raw) <= 16:
        return raw
    cut = raw[:16]
    if not upper:
        return cut
    cut = bytearray(cut)
    while cut and cut[-1] == (0xFF if name == "bin" else 0x7F):
        cut.pop()
    cut[-1] += 1
    return bytes(cut)


def order_key(v):
    return (v, math.copysign(1, v)) if isinstance(v, float) else v


def check_metrics(path, rows, want):
    what = os.path.basename(path)
    with open(path) as f:
        m = json.load(f)
    data = path.replace(".metrics", ".parquet")
    meta = pq.ParquetFile(data).metadata
    check(m["records"] == rows and m["bytes"] == os.path.getsize(data), f"{what}: records or bytes")
    starts = []
    for g in range(meta.num_row_groups):
        c = meta.row_group(g).column(0)
        starts.append(min(x for x in (c.dictionary_page_offset, c.data_page_offset) if x is not None))
    check(m["splits"] == starts, f"{what}: split offsets {m['splits']}, row groups start at {starts}")
    for c, name in enumerate(NAMES):
        got = m["columns"][str(c + 1)]
        values = want[name]
        sizes = sum(meta.row_group(g).column(c).total_compressed_size for g in range(meta.num_row_groups))
        nans = sum(isinstance(v, float) and math.isnan(v) for v in values)
        expect = {"size": sizes, "values": rows, "nulls": sum(v is None for v in values), "nans": nans if name in "fd" else -1}
        present = [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]
        if present:
            expect["lower"] = truncated(name, min(present, key=order_key), False).hex()
            expect["upper"] = truncated(name, max(present, key=order_key), True).hex()
        check(got == expect, f"{what} {name}: metrics {got}, expected {expect}")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as temp:
        folder = sys.argv[2] if len(sys.argv) > 2 else temp
        os.makedirs(folder, exist_ok=True)
        subprocess.run([program], check=True, env={**os.environ, "FRAZIL_PARQUET_OUT": folder}, stdout=subprocess.DEVNULL)
        want = expected_flat(45000)
        for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
            check_flat(os.path.join(folder, f"flat_{codec}.parquet"), 45000, want)
        for name, rows in (("flat_empty", 0), ("flat_one", 1)):
            check_flat(os.path.join(folder, f"{name}.parquet"), rows, expected_flat(rows))
            check_metrics(os.path.join(folder, f"{name}.metrics"), rows, expected_flat(rows))
        check_layout(folder)
        check_statistics(os.path.join(folder, "flat_zstd.parquet"), 45000, want)
        check_metrics(os.path.join(folder, "flat_zstd.metrics"), 45000, want)
        check_nested(os.path.join(folder, "nested.parquet"), 50000)
        check_nested(os.path.join(folder, "nested_small.parquet"), 5000)
        for kind, rows in enumerate((250000, 250000, 5000, 50000, 120000)):
            check_text(os.path.join(folder, f"text_{kind}.parquet"), kind, rows)
        check_text(os.path.join(folder, "text_overflow.parquet"), 4, 120000)
        check_text(os.path.join(folder, "text_groups.parquet"), 1, 250000)
    print("parquet files:", "FAILED" if failures else "ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
