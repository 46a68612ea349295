#!/usr/bin/env python3
"""Statistics files beside Spark's: both engines compute table and partition statistics of the same snapshots; sketches must hold the same
hashes, partition statistics the same rows; Spark goes on from frazil's files, PyIceberg reads their entries, every commit keeps them.

usage: statistics.py FRAZIL    (a Python with pyarrow and pyiceberg; $PY_SPARK and $CONFORMANCE_JARS, else all is skipped)
"""
import glob, json, os, re, struct, subprocess, sys, tempfile
import pyarrow as pa, pyarrow.parquet as pq
from pyiceberg.table import StaticTable

frazil = os.path.abspath(sys.argv[1]); work = tempfile.mkdtemp(prefix="frazil-statistics-")
passed = failed = 0
def check(what, fact):
    global passed, failed
    if fact: passed += 1
    else: failed += 1; print(f"FAILED: {what}")
if not (os.environ.get("PY_SPARK") and os.environ.get("CONFORMANCE_JARS")):
    print("no Spark: 0 passed, 0 failed, 1 skipped"); sys.exit(0)

def sql(text):
    r = subprocess.run([frazil, "sql", "--format", "tsv", "--no-header", "--conf", "catalog.h.type=hadoop", "--conf", f"catalog.h.warehouse={work}/wh", "-e", text], cwd=work, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    return r.stdout.split()

def spark(statements):
    script = f"""
import os
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").config("spark.jars", os.environ["CONFORMANCE_JARS"]).config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
  .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions").config("spark.sql.catalog.h", "org.apache.iceberg.spark.SparkCatalog")
  .config("spark.sql.catalog.h.type", "hadoop").config("spark.sql.catalog.h.warehouse", {work + '/wh'!r}).getOrCreate())
spark.sparkContext.setLogLevel("OFF")
for s in {statements!r}:
    for row in spark.sql(s).collect(): print("ROW " + "|".join(str(v) for v in row))
"""
    r = subprocess.run([os.environ["PY_SPARK"], "-c", script], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr[-3000:]
    return [line[4:] for line in r.stdout.splitlines() if line.startswith("ROW ")]

def sketches(path):
    b = open(path, "rb").read(); n = struct.unpack("<I", b[-12:-8])[0]
    out = {}
    for blob in json.loads(b[-12 - n:-12])["blobs"]:
        data = b[blob["offset"]:blob["offset"] + blob["length"]]
        if blob.get("compression-codec") == "zstd": data = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
        longs, count, theta = data[0] & 0x3f, (len(data) - 8) // 8, 1 << 63
        check(f"{path}: form", data[1] == 3 and data[2] == 3)
        if longs > 1: count = struct.unpack_from("<I", data, 8)[0]
        if longs > 2: theta = struct.unpack_from("<Q", data, 16)[0]
        hashes = struct.unpack_from(f"<{count}Q", data, 8 * longs); check(f"{path}: length", len(data) == 8 * longs + 8 * count)
        out[tuple(blob["fields"])] = {"ndv": int(blob["properties"]["ndv"]), "theta": theta, "hashes": hashes, "head": data[:8], "id": (blob["snapshot-id"], blob["sequence-number"], blob["type"])}
    return out

def newest(table):
    files = glob.glob(f"{work}/wh/db/{table}/metadata/v*.metadata.json")
    path = max(files, key=lambda f: int(re.search(r"/v(\d+)\.", f).group(1)))
    return path, json.load(open(path))

columns = "id bigint, i int, s string, b binary, d date, ts timestamp, tn timestamp_ntz, dec decimal(9,2), wide decimal(30,2), f float, g double, bo boolean, st struct<x:int,y:string>, l array<int>, one int, none string, p int"
rows = """id, cast(id % 100 as int), concat('s', id % 1000), cast(concat('b', id % 10) as binary), date_add(date'2020-01-01', cast(id % 50 as int)), timestamp_seconds(id),
 cast(timestamp_seconds(id) as timestamp_ntz), cast(id % 77 - 30 as decimal(9,2)), cast(id * 1000000007 as decimal(30,2)), cast(id % 33 - 5 as float), cast(id as double) / 4, id % 2 = 0,
 named_struct('x', cast(id % 5 as int), 'y', concat('y', id % 6)), array(1), 7, cast(null as string), cast(id % 4 as int)"""
made = spark([f"CREATE TABLE h.db.t ({columns}) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version'='2','write.delete.mode'='merge-on-read')",
       f"INSERT INTO h.db.t SELECT {rows} FROM range(30000)", "INSERT INTO h.db.t (id, p) VALUES (null, 1), (null, null)", "DELETE FROM h.db.t WHERE id = 1001",
       "CREATE TABLE h.db.v (id bigint, c string) USING iceberg PARTITIONED BY (c, bucket(4, id)) TBLPROPERTIES ('format-version'='3','write.delete.mode'='merge-on-read')",
       "INSERT INTO h.db.v SELECT id, concat('c', id % 2) FROM range(1000)", "DELETE FROM h.db.v WHERE id IN (3, 5, 8)", "ALTER TABLE h.db.v DROP PARTITION FIELD c",
       "INSERT INTO h.db.v VALUES (5000, 'c9')", "DELETE FROM h.db.v WHERE c = 'c1'",
       "CALL h.system.compute_table_stats(table => 'db.t')", "CALL h.system.compute_table_stats(table => 'db.v')",
       "CALL h.system.compute_partition_stats(table => 'db.t')", "CALL h.system.compute_partition_stats(table => 'db.v')"])
spark_table, spark_partition = dict(zip("tv", made[-4:-2])), dict(zip("tv", made[-2:]))
for t in "tv":
    mine, theirs = sketches(sql(f"CALL h.system.compute_table_stats('db.{t}')")[0]), sketches(spark_table[t])
    check(f"{t}: columns {list(mine)} {list(theirs)}", list(mine) == list(theirs))
    for field in theirs:
        a, b = mine[field], theirs[field]
        theta = min(a["theta"], b["theta"])
        check(f"{t}, field {field}: hashes", {h for h in a["hashes"] if h < theta} == {h for h in b["hashes"] if h < theta} and list(a["hashes"]) == sorted(a["hashes"]))
        check(f"{t}, field {field}: header {a['head'].hex()} {b['head'].hex()}", a["head"][1:3] == b["head"][1:3] and a["head"][6:] == b["head"][6:])
        check(f"{t}, field {field}: snapshot", a["id"] == b["id"])
        if b["theta"] == 1 << 63: check(f"{t}, field {field}: ndv {a['ndv']} {b['ndv']}", a["ndv"] == b["ndv"])
        else: check(f"{t}, field {field}: ndv {a['ndv']} of 30000", abs(a["ndv"] - 30000) < 2500)
    metadata = newest(t)[1]["statistics"]
    check(f"{t}: one entry a snapshot", len(metadata) == 1 and metadata[0]["statistics-path"] != spark_table[t])
    check(f"{t}: sizes", metadata[0]["file-size-in-bytes"] == os.path.getsize(metadata[0]["statistics-path"]))
    check(f"{t}: blobs in the metadata", [(tuple(b["fields"]), int(b["properties"]["ndv"])) for b in metadata[0]["blob-metadata"]] == [(f, v["ndv"]) for f, v in mine.items()])
    static = StaticTable.from_metadata(newest(t)[0]).metadata.statistics
    check(f"{t}: PyIceberg", static[0].blob_metadata[0].properties["ndv"] == str(mine[(1,)]["ndv"]))
    mine, theirs = pq.read_table(sql(f"CALL h.system.compute_partition_stats('db.{t}')")[0]), pq.read_table(spark_partition[t])
    check(f"{t}: partition statistics\n{mine.to_pylist()}\n{theirs.to_pylist()}", mine.to_pylist() == theirs.to_pylist())
    check(f"{t}: schema of the partition statistics\n{mine.schema}\n{theirs.schema}", [(f.name, f.type, f.nullable, f.metadata[b'PARQUET:field_id']) for f in mine.schema] == [(f.name, f.type, f.nullable, f.metadata[b'PARQUET:field_id']) for f in theirs.schema])
    check(f"{t}: iceberg.schema", json.loads(mine.schema.metadata[b"iceberg.schema"]) == json.loads(theirs.schema.metadata[b"iceberg.schema"]))

some = sketches(sql("CALL h.system.compute_table_stats(table => 'db.t', columns => array('st.x', 'i'))")[0])
check(f"named columns, nested ones too: {list(some)}", [(v["ndv"]) for v in some.values()] == [5, 100])
before = newest("t")[1]
sql("INSERT INTO h.db.t (id, p) VALUES (90000, 3); ALTER TABLE h.db.t SET TBLPROPERTIES ('a'='b')")
after = newest("t")[1]
check("commits keep statistics", after["statistics"] == before["statistics"] and after["partition-statistics"] == before["partition-statistics"])
# Spark goes on from frazil's partition statistics (it adds what came since), and must get what a computation from nothing gives.
going_on = spark(["CALL h.system.compute_partition_stats(table => 'db.t')", "SELECT count(*) FROM h.db.t WHERE i = 5"])
mine = pq.read_table(sql("CALL h.system.compute_partition_stats('db.t')")[0])
check("Spark adds to frazil's file", pq.read_table(going_on[0]).to_pylist() == mine.to_pylist())
check("Spark plans with frazil's sketches", going_on[1] == "300")
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(1 if failed else 0)
