#!/usr/bin/env python3
"""Queries with conditions over tables of many files, row groups and pages: what is left out may not change an answer. DuckDB answers the
same questions over the same rows; EXPLAIN shows that something was left out.

usage: filters.py FRAZIL    (a Python with duckdb)
"""
import os, random, re, subprocess, sys, tempfile
import duckdb

frazil = os.path.abspath(sys.argv[1]); work = tempfile.mkdtemp(prefix="frazil-filters-")
passed = failed = 0
def check(what, fact):
    global passed, failed
    if fact: passed += 1
    else: failed += 1; print(f"FAILED: {what}")
def run(sql):
    r = subprocess.run([frazil, "sql", "--format", "tsv", "--no-header", "-e", sql], cwd=work, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    return r.stdout

N = 60000
COLUMNS = {"id": "bigint", "i": "int", "s": "string", "d": "date", "p": "decimal(9,2)", "f": "double", "few": "int", "o": "bigint"}
EXPR = {"id": "id", "i": "cast(id * 7919 % 50021 as int)", "s": "concat('k', id % 20011)", "d": "DATE", "p": "cast(id % 9973 as decimal(9,2))", "f": "cast(id % 1009 as double) / 8",
        "few": "cast(id % 5 as int)", "o": "case when id % 3 = 0 then null else id % 1000 end"}
def exprs(who):
    date = {"frazil": "date_add(date'2020-01-01', cast(id % 90 as int))", "duckdb": "date '2020-01-01' + (id % 90)::int"}[who]
    return ", ".join(f"{date if e == 'DATE' else e} AS {c}" for c, e in EXPR.items())
db = duckdb.connect()
db.execute(f"create table t as select * replace (p::decimal(9,2) as p) from (select {exprs('duckdb')} from (select range as id from range({N})))")
db.execute("delete from t where id % 1000 = 17")
blooms = ",".join(f"'write.parquet.bloom-filter-enabled.column.{c}'='true'" for c in ("i", "s", "o"))
tables = {"plain": "", "parted": "PARTITIONED BY (few)", "hashed": "PARTITIONED BY (bucket(4, id), months(d))"}
for t, part in tables.items():
    run(f"CREATE TABLE db.{t} ({', '.join(f'{c} {k}' for c, k in COLUMNS.items())}) USING iceberg {part} TBLPROPERTIES ('format-version'='2','write.delete.mode'='merge-on-read',"
        f"'write.parquet.page-row-limit'='1000','write.parquet.row-group-size-bytes'='30000',{blooms});"
        f"INSERT INTO db.{t} SELECT {exprs('frazil')} FROM range({N // 2}); INSERT INTO db.{t} SELECT {exprs('frazil')} FROM (SELECT id + {N // 2} AS id FROM range({N // 2}));"
        f"DELETE FROM db.{t} WHERE id % 1000 = 17")
r = random.Random(7)
def literal(c):
    n = r.randrange(-5, N + 5)
    return {"id": str(n), "i": str(r.randrange(-3, 50030)), "s": f"'k{r.randrange(20020)}'", "d": f"date '2020-0{r.randrange(1, 5)}-{r.randrange(10, 29)}'", "p": f"{r.randrange(0, 9980)}.00",
            "f": f"cast({r.randrange(0, 1010)} as double) / 8", "few": str(r.randrange(-1, 6)), "o": str(r.randrange(1005))}[c]
def condition():
    c = r.choice(list(COLUMNS)); kind = r.randrange(8)
    if kind < 3: return f"{c} = {literal(c)}"
    if kind == 3: return f"{literal(c)} = {c}"
    if kind == 4: return f"{c} IN ({', '.join(literal(c) for _ in range(r.randrange(1, 6)))}{', null' if r.randrange(6) == 0 else ''})"
    if kind == 5: return f"{c} {r.choice(['<', '<=', '>', '>=', '<>'])} {literal(c)}"
    if kind == 6: return f"({condition()} OR {condition()})"
    return r.choice([f"{c} IS NULL", f"NOT ({c} = {literal(c)})", f"{c} BETWEEN {literal(c)} AND {literal(c)}"])
def ask(where, t): return f"SELECT count(*), coalesce(sum(id), -1), coalesce(sum(o), -1), coalesce(max(s), '-') FROM {t} WHERE {where}"
questions = [" AND ".join(condition() for _ in range(r.randrange(1, 4))) for _ in range(60)]
joins = [f"SELECT count(*), coalesce(sum(a.id), -1), coalesce(sum(b.id), -1), '-' FROM {{t}} a {j} JOIN {{t}} b ON a.i = b.i AND {w.format('b')} WHERE {v.format('a')}"
         for j in ("", "LEFT", "RIGHT", "FULL") for w, v in (("{}.id = 4711", "{}.few = 1"), ("{}.s IN ('k5', 'k6')", "{}.id IN (5, 6, 20016, 20017)"))]
for t in tables:
    sqls = [ask(q, f"db.{t}") for q in questions] + [j.format(t=f"db.{t}") for j in joins]
    mine = run(";".join(sqls)).splitlines()
    theirs = [db.execute(s.replace(f"db.{t}", "t")).fetchone() for s in sqls]
    for s, a, b in zip(sqls, mine, theirs): check(f"{s}\n  frazil {a}\n  DuckDB {b}", a.split("\t") == [str(x) for x in b])
def kept(t, where):
    plan = run(f"EXPLAIN SELECT * FROM db.{t} WHERE {where}").replace("\\n", "\n")
    return {"files": tuple(map(int, re.search(r"files: (\d+) kept, (\d+) left out by partition and bounds, (\d+) by keys", plan).groups())),
            "groups": tuple(map(int, re.search(r"row groups: (\d+) kept, (\d+) left out by bounds, (\d+) by keys, (\d+) by bloom", plan).groups())),
            "pages": tuple(map(int, re.search(r"pages of key columns: (\d+) kept, (\d+) left", plan).groups()))}
k = kept("plain", "id = 4711")
check(f"a file, row groups and pages are left out by an id {k}", k["files"][0] == 1 and k["groups"][0] <= 2 and k["groups"][1] >= 2 and k["pages"][0] <= 2 and k["pages"][1] > 0)
check("row groups are left out by a range", kept("plain", f"id > {N - 10}")["groups"][0] == 1)
check("row groups are left out by bloom filters", kept("plain", "s = 'k20010x'")["groups"][3] > 3)
check("files are left out by partition", kept("parted", "few = 3")["files"] [:2] == (2, 8))
check("files are left out by transformed partitions", kept("hashed", "id = 4711")["files"][1] > 8)
r = subprocess.run([frazil, "sql", "-v", "-e", "SELECT * FROM db.plain WHERE id = 4711"], cwd=work, capture_output=True, text=True)
m = re.search(r"scan of \S+: ([\d.]+) of ([\d.]+) MB read, (\d+) of (\d+) row groups", r.stderr)
check(f"-v says what was read: {r.stderr[-200:]}", m and float(m[1]) < float(m[2]) / 5 and int(m[3]) == 1)
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(1 if failed else 0)
