#!/usr/bin/env python3
"""Bloom filters that frazil writes, asked by DuckDB; the files read by PyArrow; and what EXPLAIN MERGE and EXPLAIN DRY RUN say of them.

usage: bloom.py FRAZIL    (a Python with duckdb and pyarrow)
"""
import glob, os, re, subprocess, sys, tempfile
import duckdb, pyarrow.parquet as pq

frazil = os.path.abspath(sys.argv[1]); work = tempfile.mkdtemp(prefix="frazil-bloom-")
def run(sql, ok=True):
    r = subprocess.run([frazil, "sql", "--format", "tsv", "--no-header", "-e", sql], cwd=work, capture_output=True, text=True)
    assert (r.returncode == 0) == ok, r.stderr
    return r.stdout if ok else r.stderr
passed = 0
def check(what, fact):
    global passed
    if not fact: print(f"FAILED: {what}"); print(f"{passed} passed, 1 failed, 0 skipped"); sys.exit(1)
    passed += 1

on = ",".join(f"'write.parquet.bloom-filter-enabled.column.{c}'='true'" for c in ("k", "i", "l", "d", "dec", "x"))
run(f"""CREATE TABLE db.t (k string, i int, l bigint, d date, dec decimal(20,2), x double, u string) USING iceberg
TBLPROPERTIES ('format-version'='2','write.merge.mode'='merge-on-read',{on},'write.parquet.bloom-filter-fpp.column.l'='0.001');
INSERT INTO db.t SELECT md5(cast(id as string)), cast(id * 7 as int), id * 13, date_add(date'2020-01-01', cast(id % 3000 as int)), cast(id as decimal(20,2)), id / 4.0D, cast(id % 10 as string)
FROM range(250000)""")
files = glob.glob(work + "/**/data/**/*.parquet", recursive=True)
db = duckdb.connect()
meta = {}
for f in files:
    for column, offset in db.execute(f"select path_in_schema, bloom_filter_offset from parquet_metadata('{f}')").fetchall(): meta.setdefault(column, []).append(offset)
check("filters where they are asked for", all(o is not None for c in "kild" for o in meta[c]) and all(o is None for o in meta["u"]))
types = {"k": "varchar", "i": "int", "l": "bigint", "d": "date", "x": "double"}
def found(column, value):
    return any(db.execute(f"select count(*) from parquet_bloom_probe('{f}', '{column}', '{value}'::{types[column]}) where not bloom_filter_excludes").fetchone()[0] for f in files)
for n in range(0, 250000, 4999):
    row = dict(zip(types, db.execute(f"select md5('{n}'), {n * 7}, {n * 13}, date '2020-01-01' + {n % 3000}, {n} / 4.0").fetchone()))
    check(f"DuckDB finds row {n}", all(found(c, v) for c, v in row.items()))
groups = sum(pq.ParquetFile(f).metadata.num_row_groups for f in files)
hits = sum(db.execute(f"select count(*) from parquet_bloom_probe('{f}', 'l', ({n} * 13 + 5)::bigint) where not bloom_filter_excludes").fetchone()[0] for f in files for n in range(1000))
check(f"false positives of l near 0.1 % ({hits} of {1000 * groups})", hits <= 0.005 * 1000 * groups)
check("PyArrow reads all rows", sum(pq.read_table(f).num_rows for f in files) == 250000)

def merge(keys, start=""): return f"{start} MERGE INTO db.t t USING (SELECT md5(cast(id as string)) AS k FROM {keys}) s ON t.k = s.k WHEN MATCHED THEN DELETE"
plan = run(merge("range(900000, 900003)", "EXPLAIN"))
by_bloom, kept = int(re.search(r"(\d+) by bloom filter", plan).group(1)), int(re.search(r"row groups: (\d+) kept", plan).group(1))
check(f"row groups are left out for keys that are not there\n{plan}", by_bloom >= groups - 1 and kept + by_bloom == groups)
check("EXPLAIN names key, join and mode", "key: k, 3 values" in plan and "join: inner" in plan and "merge-on-read" in plan)
before = sorted(glob.glob(work + "/**", recursive=True))
dry = run(merge("range(5, 905, 100)", "EXPLAIN DRY RUN"))
check(f"DRY RUN counts\n{dry}", "clause 1: WHEN MATCHED THEN DELETE: 9 rows" in dry and "copy-on-write: 1 data files replaced" in dry and "merge-on-read: 0 data files replaced" in dry and "249991 rows copied" in dry)
check("DRY RUN leaves nothing behind", sorted(glob.glob(work + "/**", recursive=True)) == before and run("SELECT count(*) FROM db.t").strip() == "250000")
run(merge("range(249000, 250500)"))
check("MERGE by keys of which a part is there", run("SELECT count(*) FROM db.t").strip() == "249000")
run(merge("range(7, 8)"))
check("one key", run("SELECT count(*) FROM db.t").strip() == "248999")
err = subprocess.run([frazil, "sql", "-e", "MERGE INTO db.t t USING (SELECT 'x' AS k, date'2031-01-01' AS d) s ON t.k = s.k AND t.d >= date'2030-01-01' WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, s.d)"],
                     cwd=work, capture_output=True, text=True).stderr
check("a window in ON is warned about", "inserted a second time" in err)
err = subprocess.run([frazil, "sql", "-e", "MERGE INTO db.t t USING (SELECT 'y' AS k, date'2031-01-01' AS d) s ON t.k = s.k AND t.d = s.d AND t.d >= date'2030-01-01' WHEN NOT MATCHED THEN INSERT (k, d) VALUES (s.k, s.d)"],
                     cwd=work, capture_output=True, text=True).stderr
check("no warning where the date is part of the key", "inserted a second time" not in err)
slow = "MERGE INTO db.t t USING (SELECT 3 AS lo, 4 AS hi) s ON t.i > s.lo AND t.i < s.hi WHEN MATCHED THEN DELETE"
err = subprocess.run([frazil, "sql", "-e", slow], cwd=work, capture_output=True, text=True).stderr
check("a nested loop is warned about and shown", "no equality" in err and "NESTED LOOP" in run("EXPLAIN " + slow))
check("EXPLAIN of a query", "fz_scan" in run("EXPLAIN SELECT count(*) FROM db.t").lower() or run("EXPLAIN SELECT 1").strip() != "")
check("a wrong rate is refused", "between 0 and 1" in run("ALTER TABLE db.t SET TBLPROPERTIES ('write.parquet.bloom-filter-fpp.column.l'='2'); INSERT INTO db.t (k) VALUES ('z')", ok=False))
print(f"{passed} passed, 0 failed, 0 skipped")
