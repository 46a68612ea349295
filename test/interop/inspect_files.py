#!/usr/bin/env python3
"""`frazil inspect --json` of Parquet files against PyArrow's reading of their footers: files that frazil writes here and, with
FRAZIL_SHARED_DATA, the folder parquet/good of the corpus. And sketches, deletion vectors and manifests against what was written.

usage: inspect_files.py FRAZIL    (a Python with pyarrow)
"""
import glob, json, os, subprocess, sys, tempfile
import pyarrow.parquet as pq

frazil = os.path.abspath(sys.argv[1]); work = tempfile.mkdtemp(prefix="frazil-inspect-")
passed = failed = skipped = 0
def check(what, fact):
    global passed, failed
    if fact: passed += 1
    else: failed += 1; print(f"FAILED: {what}")

def inspect(path, *options):
    r = subprocess.run([frazil, "inspect", *options, path], capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr

def plain(v):
    return v if isinstance(v, (int, str, bool)) and not isinstance(v, bool) else None

def parquet(path):
    global skipped
    try: meta = pq.ParquetFile(path).metadata
    except Exception: skipped += 1; return
    rc, out, err = inspect(path, "--json")
    if rc != 0: check(f"{path}: {err}", False); return
    d = json.loads(out); name = os.path.basename(path)
    check(f"{name}: rows", d["rows"] == meta.num_rows and d["row_group_count"] == meta.num_row_groups == len(d["row_groups"]))
    check(f"{name}: created by {d['created_by']} {meta.created_by}", (d["created_by"] or "") == (meta.created_by or ""))
    leaves = [s for s in d["schema"] if s["type"] != "group"]
    check(f"{name}: columns", [s["column"] for s in leaves] == [meta.schema.column(i).path for i in range(meta.num_columns)])
    check(f"{name}: types", [s["type"].split("(")[0] for s in leaves] == [meta.schema.column(i).physical_type for i in range(meta.num_columns)])
    keys = {k.decode(errors="replace") for k in (meta.metadata or {})} - {"ARROW:schema"}
    check(f"{name}: key-values", keys == set(d["key_values"]) - {"ARROW:schema"})
    for g in range(meta.num_row_groups):
        group, mine = meta.row_group(g), d["row_groups"][g]
        check(f"{name}: rows of row group {g}", mine["rows"] == group.num_rows and len(mine["columns"]) == group.num_columns)
        for c in range(group.num_columns):
            a, b = group.column(c), mine["columns"][c]; where = f"{name}: row group {g}, {a.path_in_schema}"
            check(f"{where}: codec {a.compression} {b['codec']}", a.compression == "UNKNOWN" or {"LZ4_RAW": "LZ4", "LZ4": "LZ4"}.get(b["codec"], b["codec"]) == {"LZ4_RAW": "LZ4"}.get(a.compression, a.compression))
            check(f"{where}: encodings {a.encodings} {b['encodings']}", set(a.encodings) == set(b["encodings"]))
            check(f"{where}: sizes", (a.total_compressed_size, a.total_uncompressed_size, a.num_values) == (b["compressed_bytes"], b["uncompressed_bytes"], b["values"]))
            s = a.statistics
            if s is not None and s.has_null_count: check(f"{where}: nulls", s.null_count == b["nulls"])
            try: low, high = (s.min, s.max) if s is not None and s.has_min_max and a.is_stats_set else (None, None)
            except (ValueError, OverflowError): low = high = None # nanoseconds without pandas
            if type(low) in (int, str) and b["min"] is not None and type(b["min"]) is type(low) and not str(b["min"]).startswith("0x"):
                check(f"{where}: bounds {low!r} {b['min']!r}, {high!r} {b['max']!r}", (low, high) == (b["min"], b["max"]))
    rc, out, err = inspect(path)
    check(f"{name}: text\n{err}", rc == 0 and "row groups" in out or meta.num_row_groups == 0)

def sql(text):
    r = subprocess.run([frazil, "sql", "-S", "-e", text], cwd=work, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr

sql("""CREATE TABLE db.t (id bigint, s string, d date, p decimal(9,2), l array<int>, st struct<x:int>) USING iceberg PARTITIONED BY (d)
TBLPROPERTIES ('format-version'='3','write.delete.mode'='merge-on-read','write.parquet.bloom-filter-enabled.column.id'='true');
INSERT INTO db.t SELECT id, concat('v', id), date_add(date'2024-01-01', cast(id % 2 as int)), cast(id as decimal(9,2)), array(1, 2), named_struct('x', 1) FROM range(50000);
DELETE FROM db.t WHERE id IN (0, 2, 40)""")
files = glob.glob(work + "/**/data/**/*.parquet", recursive=True)
for f in files: parquet(f)
for f in files:
    chunk = json.loads(inspect(f, "--json")[1])["row_groups"][0]["columns"][0]
    odd = chunk["min"] == 1
    check("pages cover the rows", chunk["pages"][0]["first_row"] == 0 and len(chunk["pages"]) == 2 and chunk["page_order"] == "ascending")
    check("bounds of pages", [(p["min"], p["max"]) for p in chunk["pages"]] == ([(1, 39999), (40001, 49999)] if odd else [(0, 39998), (40000, 49998)]))
    check("bloom filter", chunk["bloom_filter_bytes"] >= 32)
    check("encoding_stats", chunk["encoding_stats"] == [{"pages": "data", "encoding": "DELTA_BINARY_PACKED", "count": 2}])
    check("page offsets follow one another", chunk["pages"][0]["offset"] + chunk["pages"][0]["bytes"] == chunk["pages"][1]["offset"])
vector = json.loads(inspect(glob.glob(work + "/**/*.puffin", recursive=True)[0], "--json")[1])
check("deletion vector", vector["kind"] == "Puffin" and [(b["type"], b["deleted_rows"], b["first_positions"]) for b in vector["blobs"]] == [("deletion-vector-v1", 3, [0, 1, 20])])

data = os.environ.get("FRAZIL_SHARED_DATA", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "data"))
if os.path.isdir(data + "/parquet/good"):
    for f in sorted(glob.glob(data + "/parquet/good/**/*.parquet", recursive=True)): parquet(f)
    for f in sorted(glob.glob(data + "/bad/**/*", recursive=True) + glob.glob(data + "/parquet/odd/**/*", recursive=True)):
        if os.path.isfile(f):
            rc, out, err = inspect(f); check(f"{f}: ends with {rc}\n{err[-300:]}", rc in (0, 1) and (rc == 0 or err.startswith("frazil: [")))
    for f in sorted(glob.glob(data + "/iceberg/**/*", recursive=True)):
        if os.path.isfile(f) and f.endswith((".avro", ".metadata.json", ".puffin", ".stats", ".gz.metadata.json", "version-hint.text")):
            rc, out, err = inspect(f, "--json"); check(f"{f}: {err[-300:]}", rc == 0 and json.loads(out)["kind"] or rc == 1 and err and ("corrupt" in f or ".xz." in f))
else:
    skipped += 1; print("no ../shared/data beside the source tree (FRAZIL_SHARED_DATA): the corpus is not looked at")
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed else 0)
