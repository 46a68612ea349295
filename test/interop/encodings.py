#!/usr/bin/env python3
"""Encodings that frazil writes: which ones it chooses, and that PyArrow, DuckDB, Polars and PyIceberg read the values (Spark, with its
own and with Iceberg's vectorised reader on and off, when $PY_SPARK is set). Values are formulas that DuckDB computes too.

usage: encodings.py FRAZIL    (a Python with duckdb, pyarrow, polars and pyiceberg)
"""
import glob, os, subprocess, sys, tempfile
import duckdb, polars, pyarrow as pa, pyarrow.parquet as pq
from pyiceberg.table import StaticTable

frazil = os.path.abspath(sys.argv[1]); work = tempfile.mkdtemp(prefix="frazil-encodings-")
ROWS = 60000
# column, type, expression of the row number `id` that frazil (Spark's dialect) and DuckDB both know, expected encoding of its data pages
COLUMNS = [
    ("id", "bigint", "id", "DELTA_BINARY_PACKED"),
    ("down", "int", "cast(2000000000 - id * 3 as int)", "DELTA_BINARY_PACKED"),
    ("jumps", "bigint", "case when id % 2 = 0 then id else 9223372036854775807 - id end", None),
    ("lows", "bigint", "case when id % 3 = 0 then -9223372036854775807 - 1 + id else id end", None),
    ("customer", "bigint", "(id * 7919) % 50021", "DELTA_BINARY_PACKED"),
    ("few", "bigint", "id % 7", "RLE_DICTIONARY"),
    ("price", "decimal(9,2)", "cast((id * 31) % 90001 as decimal(9,2))", "DELTA_BINARY_PACKED"),
    ("total", "decimal(18,4)", "cast((id * 104729) % 99991 as decimal(18,4))", "DELTA_BINARY_PACKED"),
    ("small", "decimal(4,1)", "cast((id * 31) % 991 as decimal(4,1))", None),
    ("day", "date", "DATE", None),
    ("key", "string", "concat('customer-', lpad(cast(id as string), 12, '0'))", "DELTA_BYTE_ARRAY"),
    ("long_text", "string", "concat(repeat('x', cast(id % 50 as int)), md5(cast(id as string)))", None),
    ("bytes", "binary", "BYTES", None),
    ("f", "float", "cast(id * 0.5 as float)", "PLAIN"),
    ("d", "double", "cast((id * 7919) % 10007 as double) / 1024", None),
    ("sometimes", "bigint", "case when id % 5 = 0 then null else id * id end", "DELTA_BINARY_PACKED"),
    ("rarely", "string", "case when id % 1000 <> 0 then null else cast(id as string) end", None),
]
DATE = {"frazil": "date_add(date'1999-12-31', cast(id / 20 as int))", "duckdb": "(date '1999-12-31' + (id // 20)::int)"}
BYTES = {"frazil": "cast(concat('k', cast(id as string)) as binary)", "duckdb": "encode(concat('k', cast(id as string)))"}
passed = failed = 0
def check(what, fact):
    global passed, failed
    if fact: passed += 1
    else: failed += 1; print(f"FAILED: {what}")

def run(sql, ok=True):
    r = subprocess.run([frazil, "sql", "--format", "tsv", "--no-header", "-e", sql], cwd=work, capture_output=True, text=True)
    assert (r.returncode == 0) == ok, r.stderr
    return r.stdout if ok else r.stderr

def expressions(who):
    return ", ".join(f"{ {'DATE': DATE[who], 'BYTES': BYTES[who]}.get(e, e) } AS {c}" for c, _, e, _ in COLUMNS)

duck = duckdb.connect()
duck.execute(f"create table want as select * replace ({', '.join(f'{c}::{t} as {c}' for c, t, _, _ in COLUMNS if t.startswith('decimal'))}) "
             f"from (select {expressions('duckdb')} from (select range as id from range({ROWS}))) order by id")
want = duck.sql("from want order by id").to_arrow_table()
def same(table, name):
    table = table.sort_by("id")
    for c in want.column_names:
        a, b = table[c].combine_chunks(), want[c].combine_chunks()
        check(f"{name}: column {c}", a.cast(b.type).equals(b))

tables = {}
for table, properties in (("delta", ""), ("plain", ",'frazil.parquet.encodings'='plain'"), ("every", ",'frazil.parquet.encodings'='all'"),
                          ("raw", ",'write.parquet.compression-codec'='uncompressed'"), ("gz", ",'write.parquet.compression-codec'='gzip'")):
    run(f"CREATE TABLE db.{table} ({', '.join(f'{c} {t}' for c, t, _, _ in COLUMNS)}) USING iceberg TBLPROPERTIES ('format-version'='2'{properties});"
        f"INSERT INTO db.{table} SELECT {expressions('frazil')} FROM range({ROWS})")
    files = glob.glob(f"{work}/**/{table}/data/*.parquet", recursive=True)
    tables[table] = files
    encodings = {}
    for f in files:
        meta = pq.ParquetFile(f).metadata
        for g in range(meta.num_row_groups):
            for i in range(meta.num_columns):
                chunk = meta.row_group(g).column(i); encodings.setdefault(chunk.path_in_schema, set()).update(chunk.encodings)
    for c, _, _, expected in COLUMNS:
        got = encodings[c] - {"RLE"}
        if table == "plain": check(f"plain: {c} has {got}", got <= {"PLAIN", "RLE_DICTIONARY"})
        elif expected and table == "delta": check(f"delta: {c} has {got}, expected {expected}", expected in got and not got - {expected, "PLAIN"})
        if table != "every": check(f"{table}: no BYTE_STREAM_SPLIT ({c})", "BYTE_STREAM_SPLIT" not in got)
    if table == "every": check("every: BYTE_STREAM_SPLIT is used", any("BYTE_STREAM_SPLIT" in e for e in encodings.values()))
    same(pa.concat_tables(pq.read_table(f, page_checksum_verification=True) for f in files), f"PyArrow, {table}")
    same(duck.sql(f"from read_parquet({files!r})").to_arrow_table(), f"DuckDB, {table}")
    same(polars.read_parquet(files).to_arrow(), f"Polars, {table}")
    metadata = max(glob.glob(f"{work}/**/{table}/metadata/*.metadata.json", recursive=True))
    same(StaticTable.from_metadata(metadata).scan().to_arrow(), f"PyIceberg, {table}")
    back = run(f"SELECT count(*), count(DISTINCT id), sum(hash({', '.join(c for c, _, _, _ in COLUMNS)})) FROM db.{table}")
    check(f"frazil reads the same from {table} as from plain ({back.strip()})", back == (first := back if table == "delta" else first))
check("an unknown value is refused", "known are delta" in run("CREATE TABLE db.x (i int) USING iceberg TBLPROPERTIES ('frazil.parquet.encodings'='best'); INSERT INTO db.x VALUES (1)", ok=False))

if os.environ.get("PY_SPARK") and os.environ.get("CONFORMANCE_JARS"):
    script = f"""
import os, sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").config("spark.jars", os.environ["CONFORMANCE_JARS"]).config("spark.ui.enabled", "false")
  .config("spark.sql.session.timeZone", "UTC").config("spark.sql.catalog.h", "org.apache.iceberg.spark.SparkCatalog").config("spark.sql.catalog.h.type", "hadoop")
  .config("spark.sql.catalog.h.warehouse", {work + '/spark'!r}).getOrCreate())
spark.sparkContext.setLogLevel("OFF")
tables = {tables!r}
for on in ("true", "false"):
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", on); spark.conf.set("spark.sql.iceberg.vectorization.enabled", on)
    for table, files in tables.items():
        if table != "every" or on == "false":  # Spark's vectorised reader knows no BYTE_STREAM_SPLIT
            spark.read.parquet(*files).coalesce(1).write.mode("overwrite").parquet({work!r} + "/out/spark_" + table + "_" + on)
        name = "h.db." + table + "_" + on
        spark.sql("CREATE TABLE " + name + " (" + {', '.join(f'{c} {t}' for c, t, _, _ in COLUMNS)!r} + ") USING iceberg")
        for f in files: spark.sql("CALL h.system.add_files(table => '" + name[2:] + "', source_table => '`parquet`.`" + f + "`')")
        spark.table(name).coalesce(1).write.mode("overwrite").parquet({work!r} + "/out/iceberg_" + table + "_" + on)
"""
    r = subprocess.run([os.environ["PY_SPARK"], "-c", script], capture_output=True, text=True)
    check("Spark runs: " + r.stderr[-2000:] if r.returncode else "Spark runs", r.returncode == 0)
    for out in sorted(glob.glob(work + "/out/*")):
        same(pa.concat_tables(pq.read_table(f) for f in glob.glob(out + "/*.parquet")), os.path.basename(out))
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(1 if failed else 0)
