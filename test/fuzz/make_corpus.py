#!/usr/bin/env python3
"""Makes test/fuzz/corpus/: small inputs for each fuzz target, all of frazil's own making or made here by hand.

usage: make_corpus.py FRAZIL [OUT]      (Python with pyarrow, for the column chunks of test/data/parquet)
Files of inputs that fuzzing found (named found-*) are kept.
"""
import glob, hashlib, json, os, shutil, struct, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
frazil = os.path.abspath(sys.argv[1])
out = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "corpus")
MOST = 8 << 10

def put(target, data):
    folder = os.path.join(out, target)
    os.makedirs(folder, exist_ok=True)
    if len(data) <= MOST:
        with open(os.path.join(folder, hashlib.sha1(data).hexdigest()[:12]), "wb") as f:
            f.write(data)

for target in glob.glob(out + "/*/"):
    for f in os.listdir(target):
        if not f.startswith("found-"):
            os.remove(target + f)

SQL = """
CREATE TABLE a (id BIGINT, s STRING, d DECIMAL(9,2), big DECIMAL(30,3), f DOUBLE, t TIMESTAMP, n TIMESTAMP_NTZ, day DATE, b BINARY, ok BOOLEAN,
  l ARRAY<INT>, m MAP<STRING, INT>, st STRUCT<x: INT, y: STRUCT<z: STRING>>) USING iceberg PARTITIONED BY (bucket(4, id), days(t))
  TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read', 'write.parquet.bloom-filter-enabled.column.id'='true');
INSERT INTO a VALUES (1, 'one', 1.5, 1e20, 1.25, TIMESTAMP'2024-01-01 00:00:00', TIMESTAMP_NTZ'2024-01-01 00:00:00', DATE'2024-01-01', X'00ff', true,
  array(1, NULL, 3), map('a', 1), struct(1, struct('z'))), (2, NULL, NULL, NULL, NULL, TIMESTAMP'1969-12-31 23:59:59', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
DELETE FROM a WHERE id = 2;
ALTER TABLE a ADD COLUMN c INT;
ALTER TABLE a REPLACE PARTITION FIELD bucket(4, id) WITH truncate(10, id);
ALTER TABLE a CREATE BRANCH dev;
INSERT INTO a (id, c) VALUES (3, 3);
CREATE TABLE v3 (id INT, s STRING) USING iceberg TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read');
INSERT INTO v3 SELECT CAST(id AS INT), concat('text ', id % 7) FROM range(3000);
DELETE FROM v3 WHERE id % 3 = 0;
UPDATE v3 SET s = 'new' WHERE id BETWEEN 1000 AND 1100;
CALL system.compute_table_stats(table => 'a');
CALL system.compute_table_stats(table => 'v3');
"""
with tempfile.TemporaryDirectory() as work:
    subprocess.run([frazil, "sql", "-S"], input=SQL, text=True, cwd=work, check=True, env={**os.environ, "HOME": work})
    files = glob.glob(work + "/**/*", recursive=True)
    read = lambda f: open(f, "rb").read()
    for f in files:
        name = os.path.basename(f)
        if name.endswith(".parquet"):
            put("parquet_file", read(f))
        elif name.endswith(".json"):
            put("metadata", read(f))
        elif name.startswith("snap-"):
            put("manifest", b"\x01" + read(f)); put("avro", read(f))
        elif name.endswith(".avro"):
            put("manifest", b"\x00" + read(f)); put("manifest", b"\x02" + read(f)); put("avro", read(f))
        elif name.endswith((".puffin", ".stats")):
            data = read(f)
            put("puffin", data)
            size = struct.unpack("<i", data[-12:-8])[0]
            for blob in json.loads(data[-12 - size:-12])["blobs"]:
                bits = data[blob["offset"]:blob["offset"] + blob["length"]]
                if blob["type"] == "apache-datasketches-theta-v1":
                    put("theta", bits)
                    continue
                put("positions", b"\x00" + bits); put("positions", b"\x01" + bits[8:-4])

# Theta sketches as others write them: empty, one value, exact and estimating, ordered or not. (longs, version, family, lg, seed hash, flags)
def sketch(longs, flags, hashes, theta=1 << 63, head=b""):
    rest = b"" if longs < 2 else struct.pack("<If", len(hashes), 1.0)
    rest += struct.pack("<Q", theta) if longs == 3 else b""
    return bytes([longs, 3, 3, 0, 0, flags]) + b"\xcc\x93" + rest + b"".join(struct.pack("<Q", h) for h in hashes)
for data in (sketch(1, 0x1e, []), sketch(1, 0x3a, [0x123456789abcdef]), sketch(2, 0x1a, [5, 7, 1 << 60]), sketch(2, 0x0a, [1 << 60, 5]),
             sketch(3, 0x1a, [1, 2, 3], 1 << 40), sketch(3, 0x1e, [], 1 << 62), sketch(2, 0x1a, list(range(1, 400)))):
    put("theta", data)
put("theta", b"\x83" + b"".join(struct.pack("<i", i % 300) for i in range(500)))
put("theta", b"\x80" + bytes(range(256)))

# Variants, as Spark makes them.
for line in open(os.path.join(HERE, "../data/sql/variant_bytes.tsv"), encoding="utf-8"):
    put("variant", bytes.fromhex("".join(line.rstrip("\n").split("\t")[1:])))

# Column chunks with their pages.
import pyarrow.parquet as pq
TYPES = ["BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"]
CODECS = ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4_RAW", "BROTLI", "LZ4"]
for path in sorted(glob.glob(os.path.join(HERE, "../data/parquet/*.parquet"))):
    whole = read(path)
    meta = pq.ParquetFile(path).metadata
    if len(whole) <= MOST:
        put("parquet_file", whole)
    for i in range(meta.num_columns):
        column, leaf = meta.row_group(0).column(i), meta.schema.column(i)
        start = min(x for x in (column.dictionary_page_offset, column.data_page_offset) if x)
        shape = 3 if leaf.max_repetition_level else 1 if leaf.max_definition_level else 0
        rows = min(meta.row_group(0).num_rows, 4095)
        head = bytes([TYPES.index(column.physical_type), i % 3, CODECS.index(column.compression), shape, rows & 255, rows >> 8])
        if column.total_compressed_size < 5000 and (i % 2 == 0 or "nested" in path):
            put("parquet_page", head + whole[start:start + column.total_compressed_size])

# Encodings: RLE and bit-packed runs, delta blocks, variants.
def varint(n):
    b = bytearray()
    while n > 127:
        b.append(n & 127 | 128); n >>= 7
    return bytes(b + bytes([n]))
zigzag = lambda n: varint((n << 1) ^ (n >> 63) if n >= 0 else ((-n << 1) - 1))
for width in (1, 2, 3, 5, 8):
    runs = varint(4096 << 1) + b"\x01" + varint(8 << 1 | 1) + bytes(range(8 * width)) + varint(5000 << 1) + b"\x01"
    for kind in (0, 1, 2, 3):
        put("parquet_encoding", bytes([kind, width]) + runs)
put("parquet_encoding", bytes([4, 0]) + varint(128) + varint(4) + varint(5) + zigzag(7) + zigzag(-3) + bytes([2, 0, 0, 0]) + bytes(range(8)))
put("parquet_encoding", bytes([4, 0]) + varint(128) + varint(4) + varint(300) + zigzag(0) + (zigzag(1) + bytes([0, 1, 7, 64]) + bytes(4 + 28 + 256)) * 3)
for variant in (b"\x01\x00\x00\x00", b"\x01\x02\x00\x01\x02ba\x02\x02\x01\x00\x00\x02\x04\x0c\x05\x0c\x06", b"\x01\x00\x00\x03\x02\x00\x01\x03\x00\x0c\x07",
                b"\x01\x00\x00\x20\x04\x50\xd4\x12\x00", b"\x01\x00\x00\x3c\x03\x00\x00\x00ab\xff", b"\x01\x00\x00\x15x\"\x01\t\n"):
    put("parquet_encoding", b"\x05\x00" + variant)

# Avro data: one row of every kind, uncompressed.
schema = json.dumps({"type": "record", "name": "r", "fields": [
    {"name": "a", "type": ["null", "int"], "field-id": 1}, {"name": "s", "type": "string", "field-id": 2},
    {"name": "l", "type": {"type": "array", "items": "long", "element-id": 4}, "field-id": 3},
    {"name": "m", "type": {"type": "map", "values": "double", "key-id": 6, "value-id": 7}, "field-id": 5},
    {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "field-id": 8},
    {"name": "u", "type": {"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}, "field-id": 9},
    {"name": "v", "type": {"type": "record", "name": "v", "logicalType": "variant",
                           "fields": [{"name": "metadata", "type": "bytes"}, {"name": "value", "type": "bytes"}]}, "field-id": 10}]}).encode()
text = lambda b: zigzag(len(b)) + b
row = zigzag(1) + zigzag(5) + text(b"hello") + zigzag(2) + zigzag(1) + zigzag(-1) + zigzag(0) + zigzag(1) + text(b"k") + struct.pack("<d", 1.5) + zigzag(0) \
    + text(b"\x01\x00") + bytes(16) + text(b"\x01\x00\x00") + text(b"\x00")
sync = bytes(range(16))
put("avro", b"Obj\x01" + zigzag(2) + text(b"avro.schema") + text(schema) + text(b"avro.codec") + text(b"null") + zigzag(0) + sync
    + zigzag(2) + text(row * 2) + sync)
for target in sorted(os.listdir(out)):
    sizes = [os.path.getsize(os.path.join(out, target, f)) for f in os.listdir(os.path.join(out, target))]
    print(f"{target}: {len(sizes)} inputs, {sum(sizes) >> 10} KiB")
