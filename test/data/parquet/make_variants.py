#!/usr/bin/env python3
"""Records variants.jsonl: the variants in the shared Parquet files as JSON, read by DuckDB and put into the form that Spark prints.

usage: make_variants.py SHARED_DATA/parquet/good >variants.jsonl      (Python with duckdb and pyarrow)
Where DuckDB says less than the file has (nanoseconds with a zone, floats as doubles) the value stands here, from the file's name and origin.
"""
import base64, glob, json, os, re, sys
import duckdb
import pyarrow.parquet as pq

NANOS = {"variant_shredded_timestamp_nanos_tz_negative.parquet": "1957-11-07 12:33:54.123456789+00:00",
         "variant_timestamp_nanos2.parquet": "2024-11-07 12:33:54.123456789+00:00"}
con = duckdb.connect()
con.execute("SET TimeZone='UTC'")

def spark(text):
    binary = lambda m: '"' + base64.b64encode(bytes.fromhex(m[1].replace("\\\\x", ""))).decode() + '"'
    text = re.sub(r'"((?:\\\\x[0-9A-F]{2})+)"', binary, text)
    text = re.sub(r'("\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\+00)"', r'\1:00"', text)
    return text.replace("10.109999656677246", "10.11")

folder = sys.argv[1]
for path in sorted(glob.glob(folder + "/**/*.parquet", recursive=True)):
    try:
        columns = con.execute(f"DESCRIBE SELECT * FROM read_parquet('{path}')").fetchall()
    except duckdb.Error:
        continue
    for name, kind in ((c[0], c[1]) for c in columns):
        if kind != "VARIANT":
            continue
        rows = [r[0] for r in con.execute(f'SELECT CAST("{name}" AS JSON) FROM read_parquet(\'{path}\')').fetchall()]
        there = pq.read_table(path, columns=[name]).column(0).is_valid().to_pylist()  # DuckDB does not tell NULL from the variant null
        rows = [spark(r) if t else "" for r, t in zip(rows, there)]
        if os.path.basename(path) in NANOS:
            rows = [json.dumps(NANOS[os.path.basename(path)])]
        for i in range(1, len(rows)):  # nanoseconds stand after the time, in files with all kinds of values
            if rows[i - 1] == '"12:33:54.123456"':
                rows[i] = '"2024-11-07 12:33:54.123456789+00:00"'
                rows[i + 1] = '"1957-11-07 12:33:54.123456789+00:00"'
        print(json.dumps({"file": os.path.relpath(path, folder), "column": name, "rows": "".join(r + "\n" for r in rows)}, ensure_ascii=False))
