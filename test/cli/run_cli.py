#!/usr/bin/env python3
"""Behaviour of the program: options, formats, messages, exit statuses, signals, two processes at once, pipelines over odd files.

usage: run_cli.py --frazil PROGRAM [NAME...]

Standard library only. Each test runs in an empty folder of its own. The last line is "N passed, N failed, N skipped".
"""
import argparse, csv, glob, io, json, os, shutil, signal, subprocess, sys, tempfile, time, traceback

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--frazil", required=True); p.add_argument("names", nargs="*")
a = p.parse_args()
FRAZIL = os.path.abspath(a.frazil)
DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
ENV = {k: v for k, v in os.environ.items() if k != "FRAZIL_CONF"}
ENV["HOME"] = "/nonexistent"
TESTS = []

class Skip(Exception):
    pass

def test(f):
    TESTS.append(f)
    return f

def frazil(*args, stdin=b"", stdout=None, timeout=300):
    r = subprocess.run([FRAZIL, *args], input=stdin, stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, timeout=timeout)
    out = None if r.stdout is None else r.stdout.decode("utf-8", "surrogateescape")
    return r.returncode, out, r.stderr.decode("utf-8", "replace")

def sql(statements, *options, status=0):
    rc, out, err = frazil("sql", "-S", *options, "-e", statements)
    assert rc == status, f"exit status {rc}, not {status}\n{statements}\n{out}\n{err}"
    return out if status == 0 else err

def rows(statements):
    return [tuple(r.values()) for r in map(json.loads, sql(statements, "--format", "jsonl").splitlines())]

def equal(got, wanted):
    assert got == wanted, f"\n  got    {got!r}\n  wanted {wanted!r}"

def has(text, *parts):
    for part in parts:
        assert part in text, f"{part!r} is not in:\n{text}"

# ---- statements and options

@test
def scripts_come_from_e_f_and_stdin():
    open("s.sql", "w").write("-- a comment ; with a semicolon\nSELECT 'a;b' AS x; /* ; */ SELECT 2 AS x")
    wanted = "x\na;b\nx\n2\n"
    equal(frazil("sql", "--format", "csv", "-f", "s.sql")[1], wanted)
    equal(frazil("sql", "--format=csv", stdin=open("s.sql", "rb").read())[1], wanted)
    equal(frazil("sql", "--format", "csv", "-e", "SELECT 1 AS x", "-f", "s.sql", "-e", "SELECT 3 AS x")[1], "x\n1\n" + wanted + "x\n3\n")
    equal(frazil("sql", stdin=b"")[0:2], (0, ""))

@test
def exit_status_2_for_wrong_usage():
    for args in (["sql", "--memory"], ["sql", "--conf"], ["sql", "--format"], ["sql", "-e"], ["sql", "--format", "xml", "-e", "SELECT 1"], ["sql", "--conf", "x", "-e", "SELECT 1"],
                 ["sql", "--threads", "0", "-e", "SELECT 1"], ["sql", "--memory", "abc", "-e", "SELECT 1"], ["sql", "--bogus"], ["sql", "-f", "missing.sql"],
                 ["sql", "--properties-file", "missing.conf", "-e", "SELECT 1"], ["bogus"], [], ["run"], ["check", "--bogus"], ["run", "missing.yaml"]):
        rc, out, err = frazil(*args)
        assert rc == 2 and err, (args, rc, out, err)

@test
def names_that_do_not_exist_are_explained():
    rc, out, err = frazil("sql", "--catalog", "nope", "-e", "SELECT 1")
    equal((rc, out), (2, ""))
    has(err, "CATALOG_NOT_FOUND", "spark.sql.catalog.nope.type")
    sql("CREATE TABLE db.t (id INT)")
    has(sql("SELECT * FROM db.t.nosuch", status=1), "t is a table", "nosuch", "snapshots", "branch_NAME")
    has(sql("SELECT * FROM db2.t", status=1), "the namespace does not exist")
    sql("CREATE TABLE db.orders (id INT)")
    has(sql("SELECT * FROM db.ordres", status=1), "did you mean `orders`?")

@test
def errors_stop_the_script_unless_told_to_go_on():
    rc, out, err = frazil("sql", "--format", "csv", "--no-header", "-e", "SELECT 1;\n\nSELEC 2; SELECT 3")
    equal((rc, out), (1, "1\n"))
    has(err, "[PARSE_SYNTAX_ERROR]", "^", "line 3 of the script")
    equal(frazil("sql", "--keep-going", "--format", "csv", "--no-header", "-e", "SELECT 1; SELEC 2; SELECT 3")[:2], (1, "1\n3\n"))

@test
def a_script_with_nul_is_refused_whole():
    rc, out, err = frazil("sql", stdin=b"SELECT 1;\0SELECT 2")
    equal((rc, out), (1, ""))
    has(err, "NUL")

@test
def results_that_cannot_be_written_are_a_failure():
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    for statement in ("SELECT 1", "SELECT * FROM range(1000000000)"):
        with open("/dev/full", "wb") as full:
            rc, _, err = frazil("sql", "-e", statement, stdout=full)
        equal(rc, 1)
        has(err, "cannot be written")

@test
def a_closed_pipe_ends_the_query():
    r = subprocess.Popen([FRAZIL, "sql", "--format", "csv", "-e", "SELECT * FROM range(100000000000)"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    equal(r.stdout.readline(), b"id\n")
    r.stdout.close()
    r.wait(timeout=60)

@test
def suggestions():
    sql("CREATE TABLE db.orders (order_id BIGINT)")
    has(sql("SELECT * FROM db.ordrs", status=1), "TABLE_OR_VIEW_NOT_FOUND", "`orders`", "^")
    has(sql("SELECT ordr_id FROM db.orders", status=1), "UNRESOLVED_COLUMN", "`order_id`", "^")
    has(sql("SELECT * FROM dbx.orders", status=1), "TABLE_OR_VIEW_NOT_FOUND", "namespace")

# ---- inspect

def inspected(path):
    rc, out, err = frazil("inspect", "--json", path)
    assert rc == 0, err
    return json.loads(out)

@test
def inspect_shows_every_file_of_a_table():
    sql("CREATE TABLE db.t (id bigint NOT NULL, p int, s string) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read', 'k'='v');"
        "INSERT INTO db.t VALUES (1, 7, 'a'), (2, 7, 'bb'), (3, 8, NULL); DELETE FROM db.t WHERE id = 2")
    files = [f for f in glob.glob("frazil-warehouse/db/t/**/*", recursive=True) if os.path.isfile(f)]
    kinds = {}
    for f in files: kinds.setdefault(inspected(f)["kind"], []).append(f)
    equal(sorted(kinds), ["Parquet", "Puffin", "manifest", "manifest list", "table metadata"])
    newest = inspected(max(kinds["table metadata"], key=lambda f: inspected(f)["last_sequence_number"]))
    equal((newest["format_version"], newest["last_sequence_number"], newest["next_row_id"], newest["last_column_id"]), (3, 2, 3, 3))
    equal([(c["field_id"], c["column"], c["type"], c["required"]) for c in newest["schema"]], [(1, "id", "long", True), (2, "p", "int", False), (3, "s", "string", False)])
    equal([s["fields"] for s in newest["partition_specs"]], [["1000: p = identity(p)"]])
    equal([(s["operation"], s["sequence_number"], s["added-records"]) for s in newest["snapshots"]], [("append", 1, "3"), ("delete", 2, None)])
    equal(newest["properties"]["k"], "v")
    equal([(r["name"], r["type"], r["snapshot_id"]) for r in newest["refs"]], [("main", "branch", newest["current_snapshot_id"])])
    lists = {len(d["manifests"]): d["manifests"] for d in map(inspected, kinds["manifest list"])}
    equal([(m["content"], m["added_rows"], m["added_files"]) for m in lists[1]], [("data", 3, 2)])
    equal(sorted((m["content"], m["sequence_number"]) for m in lists[2]), [("data", 1), ("deletes", 2)])
    entries = [e for d in map(inspected, kinds["manifest"]) for e in d["entries"]]
    equal(sorted((e["content"], e["status"], e["partition"][0], e["records"], e["format"]) for e in entries),
          [("data", "added", "p=7", 2, "PARQUET"), ("data", "added", "p=8", 1, "PARQUET"), ("position deletes", "added", "p=7", 1, "PUFFIN")])
    seven = next(e for e in entries if e["content"] == "data" and e["partition"] == ["p=7"])
    equal([(c["column"], c["values"], c["nulls"], c["lower"], c["upper"]) for c in seven["columns"]], [("id", 2, 0, 1, 2), ("p", 2, 0, 7, 7), ("s", 2, 0, "a", "bb")])
    vector = inspected(kinds["Puffin"][0])["blobs"]
    equal([(b["type"], b["deleted_rows"], b["first_positions"]) for b in vector], [("deletion-vector-v1", 1, [1])])
    data = inspected(next(f for f in kinds["Parquet"] if "p=7" in f))
    equal([(c["column"], c["field_id"], c["repetition"], c["type"], c["logical"]) for c in data["schema"]],
          [("id", 1, "required", "INT64", None), ("p", 2, "optional", "INT32", None), ("s", 3, "optional", "BYTE_ARRAY", "STRING")])
    equal([(c["column"], c["values"], c["nulls"], c["min"], c["max"]) for c in data["columns"]], [("id", 2, 0, 1, 2), ("p", 2, 0, 7, 7), ("s", 2, 0, "a", "bb")])
    for f in files:
        rc, out, err = frazil("inspect", f)
        assert rc == 0 and "kind " in out and not err, (f, err)

@test
def inspect_shows_rows():
    path = lambda *parts: os.path.join(DATA, *parts)
    def shown(*args):
        rc, out, err = frazil("inspect", *args)
        assert rc == 0 and not err, err
        return out
    # written by Polars (make_rows.py)
    equal(json.loads(shown("--rows", "9", "--json", path("avro", "rows.avro")))["rows"],
          [{"id": 1, "name": "one", "x": 0.5, "ok": True, "day": "2024-02-29", "tags": ["a", "b"], "s": {"n": 1, "t": "q"}},
           {"id": 2, "name": None, "x": -1.25, "ok": False, "day": None, "tags": [], "s": {"n": None, "t": ""}},
           {"id": 3, "name": "a\ttab", "x": None, "ok": None, "day": "1950-01-01", "tags": None, "s": {"n": 3, "t": None}}])
    lines = shown("--rows=2", path("avro", "rows.avro")).splitlines()
    has(lines[0], "rows.avro, Avro")
    equal([line.split() for line in lines[2:4]], [["id", "name", "x", "ok", "day", "tags", "s"],
                                                  ["1", "one", "0.5", "true", "2024-02-29", '["a",', '"b"]', '{"n":', "1,", '"t":', '"q"}']])
    equal(len(lines), 5)
    has(shown("--rows", "3", path("avro", "rows.avro")), "a\\u0009tab")
    # Parquet by Arrow: as the reader of the other engine has it
    flat = path("parquet", "flat.parquet")
    document = json.loads(shown("--rows", "2500", "--json", flat))
    equal((document["kind"], document["row_count"], len(document["rows"])), ("Parquet", 3000, 2500))
    rc, out, err = frazil("sql", "--format", "jsonl", "-e", f"SELECT id, b, i, l, d, dec9, s, date FROM parquet.`{flat}` ORDER BY id LIMIT 2500")
    equal([{k: r[k] for k in ("id", "b", "i", "l", "d", "dec9", "s", "date")} for r in sorted(document["rows"], key=lambda r: r["id"])],
          [json.loads(line) for line in out.splitlines()])
    text = shown("--rows", "2", flat)
    has(text, "row 1\n", "row 2\n", "s      Straße 0")  # too wide for a table
    has(shown("--rows", "1", path("parquet", "variant_sources", "plain.parquet")), '{"a":0,"b":["x",1.5]}', "[[1]]")
    equal(json.loads(shown("--rows", "1", "--json", path("parquet", "variant_sources", "shredded.parquet")))["rows"], [{"id": 0, "v": {"a": 0, "b": ["x", 1.5], "c": None}}])
    equal(json.loads(shown("--rows", "0", "--json", flat))["rows"], [])
    sql("CREATE TABLE db.t (id INT) USING iceberg; INSERT INTO db.t VALUES (1); INSERT INTO db.t VALUES (2)")
    newest = max(glob.glob("frazil-warehouse/db/t/metadata/snap-*.avro"), key=os.path.getmtime)
    equal([r["manifest_path"] for r in json.loads(shown("--rows", "9", "--json", newest))["rows"]], [r[0] for r in rows("SELECT path FROM db.t.manifests")])
    open("other", "wb").write(b"hello")
    for args, status in ((["--rows"], 2), (["--rows", "-1", flat], 2), (["--rows", "x", flat], 2), (["--rows", "1", "other"], 1), (["--rows", "1", "missing"], 1)):
        equal(frazil("inspect", *args)[:2], (status, ""))

@test
def inspect_gzip_metadata_and_version_hints():
    open("frazil.conf", "w").write("catalog.h.type hadoop\ncatalog.h.warehouse wh\n")
    sql("CREATE TABLE h.db.t (i int) USING iceberg TBLPROPERTIES ('write.metadata.compression-codec'='gzip'); INSERT INTO h.db.t VALUES (1)")
    hint = inspected("wh/db/t/metadata/version-hint.text")
    equal((hint["kind"], hint["version"]), ("version hint", 2))
    assert hint["metadata_file"].endswith("v2.gz.metadata.json"), hint
    metadata = inspected(hint["metadata_file"])
    equal((metadata["kind"], metadata["compressed"], metadata["snapshots"][0]["total-records"]), ("table metadata", True, "1"))

@test
def inspect_refuses_what_is_no_file_of_a_table():
    open("orc", "wb").write(b"ORC\0\0\0"); open("other", "wb").write(b"hello"); open("empty", "wb"); open("cut", "wb").write(b"PAR1\0\0\0\0")
    for path, word in (("orc", "ORC"), ("other", "no file of a table"), ("empty", "no file of a table"), ("cut", "Parquet"), ("missing", "NOT_FOUND")):
        rc, out, err = frazil("inspect", path)
        equal((rc, out), (1, ""))
        has(err, word)
    open("x.json", "w").write('{"format-version": 2, "location": "\\u001b[31mred"}')
    rc, out, err = frazil("inspect", "x.json", "other")
    assert rc == 1 and "\x1b" not in out + err, (out, err)
    equal(frazil("inspect")[0], 2)
    equal(frazil("inspect", "--bogus", "x")[0], 2)
    equal(frazil("inspect", "--help")[0], 0)

# ---- formats

VALUES = "SELECT * FROM VALUES (1, CAST(NULL AS STRING)), (2, ''), (3, 'a\"b,c'), (4, 'l\\nm\\rn\\to\\\\p') AS t(i, s) ORDER BY i"

@test
def long_statements_show_how_far_they_are():
    wait = "SELECT count(*) FROM range(3000000) a JOIN range(300) b ON a.id % 1000 < b.id"
    out = err = ""
    for factor in (1, 4, 16): # until it takes longer than a second here
        statement = wait.replace("3000000", str(3000000 * factor))
        rc, out, err = frazil("sql", "--progress", "always", "-e", "CREATE OR REPLACE TABLE db.t AS " + statement)
        equal(rc, 0)
        if "rows read" in err: break
    has(err, "\r[", "rows read,", "written,", "\033[K")
    equal("rows read" in frazil("sql", "-e", "CREATE OR REPLACE TABLE db.t AS " + statement)[2], False)  # not a terminal
    equal("rows read" in frazil("sql", "--progress=never", "-e", "SELECT 1")[2], False)
    equal(frazil("sql", "--progress", "often", "-e", "SELECT 1")[0], 2)

@test
def csv_tells_null_from_empty_text():
    out = sql(VALUES, "--format", "csv")
    equal(out, 'i,s\n1,\n2,""\n3,"a""b,c"\n4,"l\nm\rn\to\\p"\n')
    equal(list(csv.reader(io.StringIO(out, newline="")))[4], ["4", "l\nm\rn\to\\p"])

@test
def tsv_can_be_read_back():
    equal(sql(VALUES, "--format", "tsv"), 'i\ts\n1\t\\N\n2\t\n3\ta"b,c\n4\tl\\nm\\rn\\to\\\\p\n')

@test
def json_is_json():
    wanted = [{"i": 1, "s": None}, {"i": 2, "s": ""}, {"i": 3, "s": 'a"b,c'}, {"i": 4, "s": "l\nm\rn\to\\p"}]
    equal(json.loads(sql(VALUES, "--format", "json")), wanted)
    equal([json.loads(line) for line in sql(VALUES, "--format", "jsonl").split("\n")[:-1]], wanted)
    equal(json.loads(sql("SELECT 1 AS i WHERE false", "--format", "json")), [])
    odd = """SELECT INTERVAL '1' DAY AS i, INTERVAL '3' MONTH AS m, DOUBLE('NaN') AS d, FLOAT('-Infinity') AS f, array(DOUBLE('NaN'), 1D) AS a,
             named_struct('q"', 'x\\ny') AS s, map(1, DATE '2020-01-02') AS p, X'00ff' AS b, 'nul\\0in' AS n, true AS t, 12345678901234567890.5BD AS e"""
    row, = json.loads(sql(odd, "--format", "json"))
    equal((row["d"], row["f"], row["a"], row["s"], row["p"], row["n"], row["t"]), ("NaN", "-Infinity", ["NaN", 1.0], {'q"': "x\ny"}, {"1": "2020-01-02"}, "nul\0in", True))

@test
def a_table_has_one_line_a_row():
    equal(sql("SELECT 'a\\nb' AS x, 'c\\u001b[31m' AS y").splitlines()[2:], ["a\\nb | c\\x1b[31m"])

@test
def rows_without_columns_are_counted():
    sql("CREATE TABLE db.e (a INT); INSERT INTO db.e VALUES (1), (2), (3); ALTER TABLE db.e DROP COLUMN a")
    equal([sql("SELECT * FROM db.e", "--format", f) for f in ("table", "csv", "tsv", "jsonl")],
          ["(3 rows without columns)\n", "\n\n\n", "\n\n\n", "{}\n{}\n{}\n"])
    equal(json.loads(sql("SELECT * FROM db.e", "--format", "json")), [{}, {}, {}])
    equal([sql("CREATE TABLE IF NOT EXISTS db.e (a INT)", "--format", f) for f in ("table", "csv", "tsv", "json", "jsonl")], [""] * 5)

# ---- configuration

@test
def unknown_catalog_keys_are_warned_about():
    keys = ["--conf", "catalog.lake.type=jdbc", "--conf", f"catalog.lake.uri=jdbc:sqlite:{os.getcwd()}/c.db", "--conf", f"spark.sql.catalog.lake.warehouse={os.getcwd()}/wh"]
    rc, _, err = frazil("sql", *keys, "--conf", "spark.sql.catalog.lake.warehous=/x", "-e", "CREATE TABLE lake.d.t (a INT)")
    equal(rc, 0)
    has(err, "warning:", "spark.sql.catalog.lake.warehous;", "spark.sql.catalog.lake.warehouse?")
    rc, _, err = frazil("sql", *keys, "--conf", "spark.sql.catalog.lake.s3.endpoint=http://x", "-e", "SELECT * FROM lake.d.t")
    equal((rc, err), (0, ""))

@test
def a_settings_file_in_the_folder_is_read():
    open("frazil.conf", "w").write(f"# mine\ncatalog.x.type jdbc\ncatalog.x.uri jdbc:sqlite:{os.getcwd()}/x.db   # here\ncatalog.x.warehouse={os.getcwd()}/xw\nspark.sql.defaultCatalog   x\n")
    equal(rows("CREATE TABLE d.t AS SELECT 1 AS a; SELECT a FROM x.d.t"), [(1,)])
    assert os.path.isdir("xw/d/t") and not os.path.exists("frazil-warehouse")

@test
def a_class_that_is_not_ours_is_named():
    has(sql("SELECT * FROM lake.db.t", "--conf", "spark.sql.catalog.lake=com.foo.Bar", status=1), "com.foo.Bar", "org.apache.iceberg.spark.SparkCatalog")

# ---- names and files

@test
def names_cannot_lead_out_of_the_warehouse():
    os.mkdir("in")
    os.chdir("in")
    for name in ("db.`../../../evil`", "db.`..`", "`..`.evil", "db.`a/../../../../evil`", "db.`.`"):
        has(sql(f"CREATE TABLE {name} (a INT)", status=1), "LOCATION")
    equal(os.listdir(".."), ["in"])

@test
def odd_names_of_columns_and_tables():
    sql("CREATE TABLE db.`odd name` (`a b` INT, `A``q` STRING, `ünï` INT, `select` INT, `x.y` INT)")
    sql("INSERT INTO db.`odd name` VALUES (1, 'x', 3, 4, 5); UPDATE db.`odd name` SET `x.y` = 9, `ünï` = `a b` + 7 WHERE `select` = 4")
    equal(rows("SELECT * FROM db.`odd name`"), [(1, "x", 8, 4, 9)])

@test
def structs_of_files():
    open("s.json", "w").write('{"st": {"x": {"y": 1}}, "l": [{"q": 1}, null]}\n{"st": {"x": null}, "l": []}\n{"st": null, "l": null}\n')
    equal(rows("SELECT st, l FROM json.`s.json`"), [({"x": {"y": 1}}, [{"q": 1}, None]), ({"x": None}, []), (None, None)])
    equal(rows("SELECT st.x.y, l[0].q FROM json.`s.json` WHERE st.x IS NOT NULL"), [(1, 1)])

@test
def csv_files_are_read_as_by_spark():  # recorded from Spark 4.1: texts, no header, an empty field and "" are NULL
    open("x.csv", "w").write('a,b,c\n1,"x, y",\n2,,z\n3,"",z\n')
    equal(rows("SELECT * FROM csv.`x.csv`"), [("a", "b", "c"), ("1", "x, y", None), ("2", None, "z"), ("3", None, "z")])
    equal(rows("SELECT _c2, sum(CAST(_c0 AS INT)) AS s FROM csv.`x.csv` WHERE _c0 <> 'a' GROUP BY _c2 ORDER BY s"), [(None, 1), ("z", 5)])

@test
def damaged_files_are_errors():
    sql("CREATE TABLE db.k AS SELECT id FROM range(10)")
    data, = glob.glob("frazil-warehouse/db/k/data/*.parquet")
    open(data, "w").write("garbage")
    has(sql("SELECT * FROM db.k", status=1), "[CORRUPT]", os.path.basename(data))
    os.unlink(data)
    has(sql("SELECT * FROM db.k", status=1), "[NOT_FOUND]", os.path.basename(data))
    open("frazil-warehouse/catalog.db", "w").write("junk" * 1000)
    has(sql("SELECT * FROM db.k", status=1), "[CORRUPT]", "catalog.db")

@test
def values_that_cannot_be_computed_say_what_and_what_to_do():
    sql("CREATE TABLE db.t (n INT, d DECIMAL(9,9))")
    for text, *parts in (("INSERT INTO db.t SELECT 5000000000L, 0", "[CAST_OVERFLOW_IN_TABLE_INSERT]", "bigint", "its column of type int"),
                         ("UPDATE db.t SET d = 0.9999999995; INSERT INTO db.t SELECT 1, 0.9999999995", "[CAST_OVERFLOW_IN_TABLE_INSERT]", "decimal(10,10)", "decimal(9,9)"),
                         ("SELECT element_at(array(1), 5)", "[INVALID_ARRAY_INDEX_IN_ELEMENT_AT]", "try_element_at"), ("SELECT make_date(2024, 13, 1)", "month 13"),
                         ("SELECT to_timestamp('2024-13-13', 'yyyy-MM-dd')", "[CANNOT_PARSE_TIMESTAMP]", "try_"), ("SELECT from_utc_timestamp(current_timestamp(), 'x')", "Europe/Berlin"),
                         ("SELECT * FROM range(0, 5, 1 - 1)", "[FAILED_FUNCTION_CALL]"), ("SELECT sum(col1) FROM VALUES (9223372036854775807L), (1L)", "[ARITHMETIC_OVERFLOW]")):
        err = sql(text, status=1)
        has(err, *parts)
        assert "raised this condition" not in err and "[BUG]" not in err, err
    err = sql("SELECT (SELECT col1 FROM VALUES (1), (2))", status=1)
    has(err, "[SCALAR_SUBQUERY_TOO_MANY_ROWS]", "more than one row")
    assert "SET " not in err, err

@test
def properties_with_unknown_values_are_refused_when_they_would_be_used():  # as by Iceberg 1.12
    for i, (key, value) in enumerate((("write.target-file-size-bytes", "abc"), ("write.distribution-mode", "bogus"), ("write.parquet.compression-level", "high"), ("write.parquet.row-group-size-bytes", "-5"))):
        sql(f"CREATE TABLE db.t{i} (id INT) TBLPROPERTIES ('{key}'='{value}')")
        has(sql(f"INSERT INTO db.t{i} VALUES (1)", status=1), "[INVALID_ARG]", key, value)
    sql("CREATE TABLE db.g (id INT) TBLPROPERTIES ('write.delete.granularity'='bogus', 'write.merge.mode'='merge-on-read'); INSERT INTO db.g VALUES (1), (2)")
    has(sql("MERGE INTO db.g USING (SELECT 1 AS id) s ON g.id = s.id WHEN MATCHED THEN DELETE", status=1), "write.delete.granularity", "file or partition")
    equal(sql("SELECT count(*) FROM db.g", "--format", "csv", "--no-header"), "2\n")

@test
def reset_brings_back_what_the_session_began_with():
    hour = "SELECT current_timezone(), hour(timestamp_micros(0)), date_trunc('DAY', timestamp_micros(0)) = timestamp_micros(0)"
    ask = lambda text, *conf: [l for l in sql(text, "--format", "csv", "--no-header", *conf).splitlines() if not l.startswith("spark.")]
    equal(ask(f"SET spark.sql.session.timeZone=America/New_York; {hour}; RESET spark.sql.session.timeZone; {hour}"), ["America/New_York,19,false", "UTC,0,true"])
    equal(ask(f"SET spark.sql.session.timeZone=America/New_York; RESET; {hour}; SET TIME ZONE INTERVAL '-3' HOURS; {hour}; SET TIME ZONE LOCAL; {hour}"), ["UTC,0,true", "-03:00,21,false", "UTC,0,true"])
    equal(ask(f"SET TIME ZONE 'UTC'; {hour}; RESET; {hour}", "--conf", "spark.sql.session.timeZone=Asia/Tokyo"), ["UTC,0,true", "Asia/Tokyo,9,false"])
    equal(ask(f"{hour}; SELECT CAST(TIMESTAMP '2024-01-01 00:00:00' AS STRING), unix_seconds(TIMESTAMP '2024-01-01 00:00:00')", "--conf", "spark.sql.session.timeZone=+02:00"), ["+02:00,2,false", "2024-01-01 00:00:00,1704060000"])
    for zone in ("Mars/X", "+05:31", "+25:00"):
        has(sql(f"SET spark.sql.session.timeZone={zone}", status=1), "[INVALID_CONF_VALUE.TIME_ZONE]", zone)

@test
def settings_that_would_change_results_are_warned_about():
    for key, value in (("spark.sql.ansi.enabled", "false"), ("spark.sql.caseSensitive", "true"), ("spark.sql.mapKeyDedupPolicy", "LAST_WIN")):
        for args in (["--conf", f"{key}={value}", "-e", "SELECT 1"], ["-e", f"SET {key}={value}"]):
            has(frazil("sql", *args)[2], "warning: ", f"{key}={value} has no effect")
    equal(frazil("sql", "--conf", "spark.sql.ansi.enabled=true", "--conf", "spark.sql.shuffle.partitions=7", "-e", "SELECT 1")[2], "")

@test
def long_texts_of_one_letter_can_be_read_back():  # 68 MB, a few KB in the file
    for codec in ("zstd", "brotli"):
        sql(f"CREATE TABLE db.{codec} (id INT, v STRING) TBLPROPERTIES ('write.parquet.compression-codec'='{codec}'); INSERT INTO db.{codec} SELECT 1, repeat('a', 68000000)")
        equal(rows(f"SELECT id, length(v) AS n FROM db.{codec}"), [(1, 68000000)])

@test
def what_is_not_there_says_what_is():
    sql("CREATE TABLE db.t (id INT)")
    for text, *parts in (("OPTIMIZE db.t", "OPTIMIZE is not supported: use CALL system.rewrite_data_files"), ("COMMIT", "COMMIT is not supported: each statement commits by itself"),
                         ("CREATE TABLE db.b (a INT) CLUSTERED BY (a) INTO 4 BUCKETS", "is not supported: use PARTITIONED BY (bucket(16, id))"),
                         ("CALL local.system.rewrite_manifests('db.t')", "[UNSUPPORTED_FEATURE]", "rewrite_manifests is not there yet", "rewrite_data_files"),
                         ("CALL local.system.rewrite_data_file('db.t')", "Did you mean system.rewrite_data_files"),
                         ("SELECT uper('a')", "[UNRESOLVED_ROUTINE]", "Did you mean `upper`?")):
        has(sql(text, status=1), *parts)

# ---- interruption and other processes

@test
def an_interrupted_insert_leaves_nothing():
    sql("CREATE TABLE db.t AS SELECT id FROM range(10)")
    r = subprocess.Popen([FRAZIL, "sql", "-e", "INSERT INTO db.t SELECT id FROM range(50000000000)"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    deadline = time.monotonic() + 5
    while len(os.listdir("frazil-warehouse/db/t/data")) < 2 and time.monotonic() < deadline:  # it writes, perhaps where nobody sees it
        assert r.poll() is None, r.stderr.read()
        time.sleep(0.02)
    r.send_signal(signal.SIGINT)
    _, err = r.communicate(timeout=60)
    equal(r.returncode, 130)
    has(err.decode(), "[CANCELLED]")
    equal(rows("SELECT count(*) FROM db.t; SELECT count(*) FROM db.t.snapshots"), [(10,), (1,)])
    equal(len(os.listdir("frazil-warehouse/db/t/data")), 1)

@test
def processes_at_once_lose_nothing():
    sql("CREATE TABLE db.t AS SELECT id, 0 AS v FROM range(100)")
    merge = "MERGE INTO db.t t USING (SELECT id FROM range(100)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = t.v + 1"
    waiting = [(kind, subprocess.Popen([FRAZIL, "sql", "-S", "-e", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV))
               for k in range(4) for kind, text in (("merge", merge), ("insert", f"INSERT INTO db.t VALUES ({1000 + k}, 0)"))]
    done = {"merge": 0, "insert": 0}
    for kind, r in waiting:
        _, err = r.communicate(timeout=120)
        assert r.returncode in ((0, 3) if kind == "merge" else (0,)), (kind, r.returncode, err)
        if r.returncode == 3:
            has(err.decode(), "[CONFLICT]", "Nothing was changed: run the statement again")
        done[kind] += r.returncode == 0
    assert done["merge"] >= 1
    equal(rows("SELECT count(*), min(v), max(v) FROM db.t WHERE id < 100; SELECT count(*), 0 AS a, 0 AS b FROM db.t WHERE id >= 1000"), [(100, done["merge"], done["merge"]), (4, 0, 0)])

# ---- pipelines

def event(offset, op, key, value, position, **more):
    row = {"id": key, "v": value}
    source = {"connector": "postgresql", "name": "pg", "schema": "public", "table": "t", "lsn": position, "sequence": json.dumps([str(position - 1), str(position)]), "snapshot": "false"}
    value = {"before": None if op in "cr" else row, "after": None if op == "d" else {**row, **more}, "op": op, "source": source}
    return {"topic": "pg.public.t", "partition": 0, "offset": offset, "ts": 1700000000000, "headers": {}, "key": {"id": key}, "value": value}

def pipeline(pattern, extra="", table=""):
    open("p.yaml", "w").write(f"""pipeline: p
catalog: local
source:
  file: {{path: "{pattern}", records: kafka, format: debezium-json}}
tables:
  "pg.public.t":
    into: local.db.t
    key: [id]
    columns: {{id: {{type: bigint}}, v: {{type: string}}}}
{table}quarantine: {{table: local.db.q}}
{extra}""")

def write_events(path, events):
    open(path, "w").write("".join((e if isinstance(e, str) else json.dumps(e)) + "\n" for e in events))

def run(status=0):
    rc, out, err = frazil("run", "p.yaml", "--once")
    assert rc == status, f"exit status {rc}, not {status}\n{out}\n{err}"
    return out if status == 0 else err

@test
def numbered_files_are_read_in_order():  # part-10 sorts before part-2 as text, and its offsets would push the others out
    for k in range(12):
        write_events(f"part-{k}.jsonl", [event(k * 10 + i, "c", k * 10 + i, "v", 100 + k * 10 + i) for i in range(10)])
    pipeline("part-*.jsonl")
    run()
    equal(rows("SELECT count(*), sum(id) FROM db.t"), [(120, sum(range(120)))])
    has(run(), "0 changes")

@test
def offsets_out_of_order_are_an_error():
    write_events("e.jsonl", [event(5, "c", 5, "v", 105), event(3, "c", 3, "v", 103)])
    pipeline("e.jsonl")
    has(run(status=1), "offset 3 comes after offset 5", "e.jsonl")

@test
def offsets_read_twice_are_not():
    write_events("e.jsonl", [event(k, "c", k, "v", 100 + k) for k in (1, 2, 5, 6, 2, 5, 7, 1)])
    pipeline("e.jsonl")
    run()
    equal(rows("SELECT id FROM db.t ORDER BY id"), [(1,), (2,), (5,), (6,), (7,)])

@test
def bad_lines_go_to_the_quarantine_once():
    bad = [{**event(12, "c", 50, "x", 300), "value": "text"}, {**event(13, "c", 50, "x", 301), "value": {"op": "z"}}, event(14, "c", "no number", "x", 302), event(15, "c", 2**70, "x", 303)]
    write_events("e.jsonl", [event(k, "c", k, f"v{k}", 100 + k) for k in range(10)] + ["garbage", *bad, event(20, "c", 20, "nul\0in", 304)])
    pipeline("e.jsonl")
    run()
    equal(rows("SELECT count(*), sum(id), max(length(v)) FROM db.t"), [(11, 65, 6)])
    wanted = [("pg.public.t", 12, "BAD_JSON"), ("pg.public.t", 13, "UNKNOWN_OP"), ("pg.public.t", 14, "BAD_VALUE"), ("pg.public.t", 15, "BAD_VALUE")]
    equal(rows("SELECT topic, offset, reason FROM db.q WHERE topic <> 'e.jsonl' ORDER BY offset"), wanted)
    equal(rows("SELECT reason, raw FROM db.q WHERE topic = 'e.jsonl'"), [("BAD_JSON", "garbage")])
    has(run(), "0 changes")
    equal(rows("SELECT count(*) FROM db.q"), [(5,)])

@test
def yaml_errors_have_a_place_and_a_hint():
    write_events("e.jsonl", [event(1, "c", 1, "v", 101)])
    for line, hint in (("comit: {every: 1s}", "commit"), ("commit: {evry: 1s}", "every"), ("commit: {or_rows: many}", "many"), ("\tx: 1", "p.yaml")):
        pipeline("e.jsonl", extra=line + "\n")
        for command in (["check", "p.yaml"], ["run", "p.yaml", "--once"]):
            rc, out, err = frazil(*command)
            equal(rc, 2)
            has(err, "p.yaml:11:", hint)

# ---- nanoseconds (version 3), which Spark does not have; what is expected is arithmetic

@test
def nanosecond_columns():
    sql("""CREATE TABLE db.t (id INT, n TIMESTAMP_NS, z TIMESTAMPTZ_NS) USING iceberg TBLPROPERTIES ('format-version'='3');
        INSERT INTO db.t SELECT 1, TIMESTAMP_NTZ'1969-12-31 23:59:59.999999', TIMESTAMP'1969-12-31 23:59:59.999999';
        INSERT INTO db.t SELECT 2, CAST('2024-01-01 00:00:00.5' AS TIMESTAMP_NS), DATE'2024-01-01'; INSERT INTO db.t VALUES (3, NULL, NULL)""")
    equal(rows("SELECT * FROM db.t ORDER BY id"), [(1, "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"), (2, "2024-01-01 00:00:00.5", "2024-01-01 00:00:00"), (3, None, None)])
    equal(rows("SELECT id FROM db.t WHERE n < TIMESTAMP_NTZ'1970-01-01 00:00:00'"), [(1,)])
    equal(rows("SELECT id FROM db.t WHERE z = TIMESTAMP'2024-01-01 00:00:00'"), [(2,)])
    equal(rows("SELECT CAST(n AS STRING) AS a, CAST(n AS DATE) AS b, CAST(z AS TIMESTAMP) AS c, n + INTERVAL 1 SECOND, n = z FROM db.t WHERE id = 1"),
          [("1969-12-31 23:59:59.999999", "1969-12-31", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00.999999", True)])
    sql("UPDATE db.t SET id = 9 WHERE id = 1; ALTER TABLE db.t ADD PARTITION FIELD days(n); INSERT INTO db.t SELECT id + 10, n, z FROM db.t")
    equal(rows("SELECT partition.n_day, count(*) FROM db.t.partitions WHERE spec_id = 1 GROUP BY 1 ORDER BY 1"), [(None, 1), ("1969-12-31", 1), ("2024-01-01", 1)])
    equal(rows("SELECT id FROM db.t WHERE n = TIMESTAMP_NTZ'1969-12-31 23:59:59.999999' ORDER BY id"), [(9,), (19,)])
    has(sql("CREATE TABLE db.two (n TIMESTAMP_NS) USING iceberg", status=1), "format-version", "timestamp_ns")

# ---- variants, in tables that Spark wrote (shared data, unpacked)

@test
def variants_keep_their_bytes_when_rows_are_rewritten():
    spark = "/tmp/frazil-data/wh/spark/hadoop"
    if not os.path.exists(spark + "/db/v3_variant_shredded"):
        raise Skip("the shared tables are not unpacked")
    conf = ["--conf", "spark.sql.catalog.h=org.apache.iceberg.spark.SparkCatalog", "--conf", "spark.sql.catalog.h.type=hadoop",
            "--conf", f"spark.sql.catalog.h.warehouse={spark}", "--conf", "spark.sql.catalog.f=org.apache.iceberg.spark.SparkCatalog", "--conf", "spark.sql.catalog.f.type=hadoop",
            "--conf", "spark.sql.catalog.f.warehouse=" + os.path.abspath("f"), "--catalog", "f", "--format", "jsonl"]
    run = lambda text: [tuple(r.values()) for r in map(json.loads, sql(text, *conf).splitlines())]
    run("""CREATE TABLE db.w USING iceberg TBLPROPERTIES ('format-version'='3') AS SELECT * FROM h.db.v3_variant;
        INSERT INTO db.w SELECT id + 100, v FROM h.db.v3_variant_shredded""")
    both = "SELECT id, v, CAST(v AS STRING) AS s FROM h.db.v3_variant WHERE id <> 9 UNION ALL SELECT id + 100, v, CAST(v AS STRING) FROM h.db.v3_variant_shredded"
    shown = lambda text: sorted(map(json.dumps, run(text)))
    before = shown(both)
    equal(len(before), 28)
    equal(before[0], '[1, {"a": 1, "b": "x", "c": [1, 2.5, null, true], "d": {"e": "f"}}, "{\\"a\\":1,\\"b\\":\\"x\\",\\"c\\":[1,2.5,null,true],\\"d\\":{\\"e\\":\\"f\\"}}"]')
    run("""UPDATE db.w SET id = id + 1000 WHERE id IN (1, 101, 9); UPDATE db.w SET id = id - 1000 WHERE id > 1000; DELETE FROM db.w WHERE id = 9;
        MERGE INTO db.w t USING (SELECT id, v FROM db.w WHERE id < 5) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;
        CALL system.rewrite_data_files(table => 'db.w', options => map('rewrite-all', 'true'))""")
    equal(shown("SELECT id, v, CAST(v AS STRING) AS s FROM db.w"), before)

# ---- metadata tables

@test
def partitions_of_several_specs():  # as Spark 4.1 with Iceberg 1.12 shows these tables
    sql("""CREATE TABLE db.p1 (id INT, a INT, b INT) USING iceberg PARTITIONED BY (a); INSERT INTO db.p1 VALUES (1, 1, 1), (2, 2, NULL);
        ALTER TABLE db.p1 ADD PARTITION FIELD b; INSERT INTO db.p1 VALUES (3, 1, NULL), (4, 2, NULL), (5, 3, 3);
        ALTER TABLE db.p1 DROP PARTITION FIELD b; INSERT INTO db.p1 VALUES (6, 1, 5), (7, 3, NULL);
        CREATE TABLE db.p4 (id INT, a INT, s STRING) USING iceberg PARTITIONED BY (a); INSERT INTO db.p4 VALUES (1, 1, 'x');
        ALTER TABLE db.p4 DROP PARTITION FIELD a; ALTER TABLE db.p4 ADD PARTITION FIELD s; INSERT INTO db.p4 VALUES (2, 1, NULL);
        ALTER TABLE db.p4 DROP PARTITION FIELD s; ALTER TABLE db.p4 ADD PARTITION FIELD a; INSERT INTO db.p4 VALUES (3, 1, 'x'), (4, NULL, 'x')""")
    shown = lambda t: sorted((json.dumps(r[0]), *r[1:]) for r in rows(f"SELECT partition, spec_id, record_count, file_count FROM db.{t}.partitions"))
    equal(shown("p1"), [('{"a": 1, "b": null}', 0, 2, 2), ('{"a": 1, "b": null}', 1, 1, 1), ('{"a": 2, "b": null}', 0, 1, 1), ('{"a": 2, "b": null}', 1, 1, 1),
                        ('{"a": 3, "b": 3}', 1, 1, 1), ('{"a": 3, "b": null}', 0, 1, 1)])
    equal(shown("p4"), [('{"a": 1, "s": null}', 0, 2, 2), ('{"a": null, "s": null}', 0, 2, 2)])

# ---- files as sources

@test
def nanoseconds_are_rounded_down():
    path = os.path.join(DATA, "parquet", "nanos.parquet")
    before, second = "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999998"
    equal(rows(f"SELECT n, l, s FROM parquet.`{path}`"),
          [(before, [before], {"x": before}), (second, [None], {"x": before}), ("1970-01-01 00:00:00", [], {"x": None}), (None, None, None)])

@test
def nanoseconds_with_a_zone_are_rounded_down():  # as arithmetic has it; Spark refuses such files
    path = os.path.join(DATA, "parquet", "nanos_zone.parquet")
    times = ["1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999998", "1969-12-31 23:59:59.999998", "1970-01-01 00:00:00", "1970-01-01 00:00:00",
             "1970-01-01 00:00:00.000001", "1969-12-31 23:59:59.999999", None]  # of -1, -1001, -1999, 0, 1, 1999, -1000 ns
    equal(rows(f"SELECT i, z, n, l FROM parquet.`{path}`"), [(i, t, t, [t]) for i, t in enumerate(times)])
    equal(rows(f"SELECT i FROM parquet.`{path}` WHERE z < TIMESTAMP '1969-12-31 23:59:59.999999'"), [(1,), (2,)])
    equal(rows(f"SELECT count(*), count(z) FROM parquet.`{os.path.dirname(path)}/nanos_z*.parquet`"), [(8, 7)])

@test
def variants_of_files():  # written by Spark 4.1 (make_variant_sources.py), which reads them so
    folder = os.path.join(DATA, "parquet", "variant_sources")
    plain, shredded = f"parquet.`{folder}/plain.parquet`", f"parquet.`{folder}/shredded.parquet`"
    equal(rows(f"SELECT to_json(v), to_json(s.v), to_json(l), v:a::int, schema_of_variant(v) FROM {plain} ORDER BY id"),
          [(f'{{"a":{i},"b":["x",1.5]}}', str(i), "[[1]]", i, "OBJECT<a: BIGINT, b: ARRAY<VARIANT>>") for i in range(3)])
    equal(rows(f"SELECT to_json(v), v:a::int FROM {shredded} ORDER BY id"), [(f'{{"a":{i},"b":["x",1.5],"c":null}}', i) for i in range(3)])
    equal(rows(f"SELECT p.id, s.v:c IS NULL FROM {plain} p JOIN {shredded} s ON p.v:a::int = s.v:a::int WHERE s.v:a::int > 0 ORDER BY 1"), [(1, False), (2, False)])
    equal(rows(f"SELECT count(*) FROM parquet.`{folder}`"), [(6,)])
    equal(rows(f"SELECT id, typeof(v) FROM parquet.`{folder}/*.parquet` ORDER BY id LIMIT 1"), [(0, "variant")])

# ---- running

failed = passed = skipped = 0
home = os.getcwd()
for f in TESTS:
    if a.names and f.__name__ not in a.names:
        continue
    folder = tempfile.mkdtemp(prefix="frazil_cli_")
    os.chdir(folder)
    try:
        f()
        passed += 1
    except Skip as e:
        skipped += 1
        print(f"skipped {f.__name__}: {e}")
    except Exception:
        failed += 1
        print(f"FAILED {f.__name__}\n{traceback.format_exc(limit=-2)}", flush=True)
    os.chdir(home)
    shutil.rmtree(folder, ignore_errors=True)
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed else 0)
