#!/usr/bin/env python3
"""Files of other writers copied row group by row group, and tables rewritten twice, read back by every reader.

usage: test_copied_files.py TEST_PARQUET_COPY FRAZIL     the built test_parquet_copy and the program

Inputs are written by PyArrow (v1 and v2 pages, several codecs, with and without page index) and by DuckDB. Outputs are read by PyArrow with
page checksums on, by DuckDB and by Polars; filters are those that skip by statistics, dictionary and page index. Tables: frazil updates
and deletes in a table of several row groups, PyIceberg and DuckDB read its data files.
"""
import glob
import os
import subprocess
import sys
import tempfile

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

passed, failures = 0, []


def check(ok, text):
    global passed
    if ok:
        passed += 1
    else:
        failures.append(text)
        print("FAIL", text)


def with_ids(table):
    counter = [0]

    def field(f):
        counter[0] += 1
        meta = {b"PARQUET:field_id": str(counter[0]).encode()}
        if pa.types.is_list(f.type):
            return pa.field(f.name, pa.list_(field(f.type.value_field)), f.nullable, meta)
        if pa.types.is_struct(f.type):
            return pa.field(f.name, pa.struct([field(f.type.field(i)) for i in range(f.type.num_fields)]), f.nullable, meta)
        return pa.field(f.name, f.type, f.nullable, meta)
    schema = pa.schema([field(f) for f in table.schema])
    return pa.table([c.cast(f.type) for c, f in zip(table.columns, schema)], schema=schema)


def sample(rows):
    return duckdb.sql(f"""select i as id, (i * 7919 % 1000)::integer as n, case when i % 7 = 0 then null else 'status ' || (i % 5) end as s,
        'a long text that is different in every row ' || i as note, (i / 4)::decimal(12,2) as d, (i * 1.5)::double as f,
        date '2026-01-01' + (i % 365)::int as day, i % 3 = 0 as b, (i * 1000003)::decimal(30,5) as wide,
        [i % 3, null, i]::bigint[] as l, {{'x': i % 10, 'y': 'y' || (i % 100)}} as st, timestamp '2026-01-01 00:00:00' + to_microseconds(i * 1000) as ts
        from range({rows}) r(i)""").to_arrow_table()


def compare(path, want, name):
    check(pq.ParquetFile(path, page_checksum_verification=True).read().cast(want.schema).equals(want), f"{name}: PyArrow")
    q = "select count(*), sum(id), count(s), min(note), max(note), sum(d), sum(f), min(day), max(wide), count(distinct s) from {} where {}"
    for filter in ("true", "id between 20000 and 20100", "s = 'status 3'", "s is null", "note = 'a long text that is different in every row 31234'",
                   "n = 17", "day = date '2026-03-01'", "id > 999999"):
        a, b = duckdb.sql(q.format(f"read_parquet('{path}')", filter)).fetchall(), duckdb.sql(q.format("want", filter)).fetchall()
        check(a == b, f"{name}: DuckDB where {filter}: {a} {b}")
    a = polars.scan_parquet(path).filter(polars.col("id") > 39990).select("id", "s", "note").collect().to_arrow()
    b = want.slice(39991).select(["id", "s", "note"])
    check(a.to_pydict() == b.to_pydict(), f"{name}: Polars")


def files(program, folder):
    want = with_ids(sample(50000))
    inputs = {}
    for version in ("1.0", "2.0"):
        for codec in ("zstd", "snappy", "none"):
            path = f"{folder}/arrow_{version}_{codec}.parquet"
            pq.write_table(want, path, row_group_size=20000, compression=codec, data_page_version=version, write_page_index=codec != "snappy",
                           write_page_checksum=codec == "zstd", data_page_size=50000, dictionary_pagesize_limit=20000)
            inputs[path] = want
    path, ids = f"{folder}/duckdb.parquet", "{id: 1, n: 2, s: 3, note: 4, d: 5, f: 6, day: 7, b: 8, wide: 9, ts: 10}"
    flat = want.drop_columns(["l", "st"])
    duckdb.register("flat", flat)
    duckdb.sql(f"copy (select * from flat) to '{path}' (format parquet, compression zstd, row_group_size 20480, field_ids {ids})")
    inputs[path] = flat
    for path, rows in inputs.items():
        out, name = path + ".copy", os.path.basename(path)
        last = path
        for turn in (1, 2):  # a copy of a copy
            target = f"{out}{turn}"
            done = subprocess.run([program], env=dict(os.environ, FRAZIL_COPY=f"{last}:{target}"), capture_output=True, text=True)
            check(done.returncode == 0, f"{name}: {done.stdout[-500:]}{done.stderr[-500:]}")
            if done.returncode != 0:
                break
            if turn == 1:
                print(name, [x for x in done.stdout.splitlines() if x.startswith("copied")])
            compare(target, rows, f"{name} turn {turn}")
            last = target


def tables(frazil, folder):
    """Two rewrites in a row in a table of three row groups and more; the second one copies what the first one left."""
    for version in ("2", "3"):
        work = f"{folder}/v{version}"
        os.makedirs(work)

        def sql(text):
            done = subprocess.run([frazil, "sql", "-e", text], cwd=work, capture_output=True, text=True)
            assert done.returncode == 0, (text, done.stderr)
        sql(f"""CREATE TABLE db.t (id BIGINT NOT NULL, s STRING, f DOUBLE, note STRING, l ARRAY<BIGINT>) USING iceberg TBLPROPERTIES ('format-version'='{version}');
            INSERT INTO db.t SELECT id, concat('status ', id % 5), id / 2.0D, concat('note of row ', id), array(id, id % 3) FROM range(350000) r(id)""")
        sql("UPDATE db.t SET s = 'changed', f = DOUBLE('NaN') WHERE id BETWEEN 120000 AND 120999")
        sql("DELETE FROM db.t WHERE id = 349999 OR id BETWEEN 250000 AND 250099")
        newest = max(glob.glob(f"{work}/**/data/*.parquet", recursive=True), key=os.path.getmtime)
        table = pq.ParquetFile(newest, page_checksum_verification=True).read()
        got = {r["id"]: (r["s"], str(r["f"]), r["note"], r["l"]) for r in table.to_pylist()}
        want = {i: ("changed" if 120000 <= i <= 120999 else f"status {i % 5}", "nan" if 120000 <= i <= 120999 else str(i / 2.0), f"note of row {i}", [i, i % 3])
                for i in range(349999) if not 250000 <= i < 250100}
        check(got == want, f"v{version}: PyArrow")
        q = f"from read_parquet('{newest}')"
        check(duckdb.sql(f"select count(*), max(id), min(id) {q}").fetchall() == [(349899, 349998, 0)], f"v{version}: DuckDB count and bounds")
        check(duckdb.sql(f"select count(*), sum(id) {q} where s = 'changed'").fetchall() == [(1000, sum(range(120000, 121000)))], f"v{version}: DuckDB finds the new value")
        check(duckdb.sql(f"select count(*) {q} where s = 'status 4'").fetchall() == [(sum(v[0] == 'status 4' for v in want.values()),)], f"v{version}: DuckDB old value")
        check(duckdb.sql(f"select count(*) {q} where id = 250050").fetchall() == [(0,)], f"v{version}: DuckDB deleted")
        groups = pq.ParquetFile(newest).metadata
        print(f"v{version}: row groups", [groups.row_group(i).num_rows for i in range(groups.num_row_groups)])
        if version == "3":  # lineage: ids stay, only changed rows lost their sequence number
            ids = duckdb.sql(f"select count(distinct _row_id), sum((_row_id <> id)::int), count(_last_updated_sequence_number) {q}").fetchall()
            check(ids == [(349899, 0, 349899)], f"v3 lineage: {ids}")


def main(copier, frazil):
    with tempfile.TemporaryDirectory() as folder:
        files(os.path.abspath(copier), folder)
        tables(os.path.abspath(frazil), folder)
    print(f"{passed} passed, {len(failures)} failed, 0 skipped")
    sys.exit(1 if failures else 0)


main(*sys.argv[1:])
