"""What run_interop.py does with the engines. Each scenario gets the run (class Interop) and notes its comparisons there."""
import base64
import glob
import json
import os
import pickle
import random
import subprocess
import sys

from model import Table
from run_frazil import Broken, Refused
from values import PRIMITIVES, random_transform, random_type

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ("delete", "update", "merge")


def new_catalog(run, name):
    folder = os.path.join(run.folder, name)
    os.makedirs(os.path.join(folder, "warehouse"))
    return {"db": os.path.join(folder, "catalog.db"), "name": "ice", "warehouse": os.path.join(folder, "warehouse")}


def properties(version, mode):
    return dict({"format-version": version}, **{f"write.{what}.mode": mode for what in MODES})


def step(run, label, who, catalog, statement):
    """Runs one statement; False, with a note, when it failed."""
    try:
        run.sql(who, catalog, [statement])
        return True
    except (Broken, Refused) as error:
        run.note("failed", f"{label}, {statement.split()[0]} by {who}: {str(error)[:500]} [{statement[:300]}]")
        return False


# ---------------------------------------------------------------- tables changed in turns

ALL_TYPES = [(f"c_{t[0]}{'_'.join(map(str, t[1:]))}", t) for t in PRIMITIVES] + [
    ("s", ("struct", (("x", ("int",)), ("y", ("string",)), ("z", ("struct", (("q", ("double",)),)))))),
    ("a", ("list", ("int",))), ("aa", ("list", ("list", ("string",)))), ("m", ("map", ("string",), ("int",))),
    ("ms", ("map", ("int",), ("struct", (("p", ("decimal", 7, 2)), ("r", ("list", ("date",))))))), ("ls", ("list", ("struct", (("u", ("timestamp",)), ("v", ("binary",)))))),
]
# DuckDB 1.5.5 is run without its external file cache (engine.py): with it, it takes wrong bytes for one of several deletion vectors of a Puffin file
# and shows rows that are deleted, depending on what it read before.
# first writer, version, mode, first partitioning, then changed to
TURNS = [
    ("spark", "1", "copy-on-write", "c_string", "ADD PARTITION FIELD bucket(3, id)"),
    ("frazil", "2", "copy-on-write", "months(c_timestamp)", "REPLACE PARTITION FIELD c_timestamp_month WITH days(c_timestamp)"),
    ("spark", "2", "merge-on-read", "bucket(4, id)", "ADD PARTITION FIELD truncate(3, c_string)"),
    ("frazil", "2", "merge-on-read", "", "ADD PARTITION FIELD years(c_date)"),
    ("spark", "3", "merge-on-read", "truncate(10, c_int), c_boolean", "DROP PARTITION FIELD c_boolean"),
    ("frazil", "3", "merge-on-read", "hours(c_timestamp_ntz), bucket(2, c_decimal38_10)", "DROP PARTITION FIELD c_timestamp_ntz_hour"),
    ("frazil", "3", "copy-on-write", "c_date", "ADD PARTITION FIELD bucket(2, c_binary)"),
]


def turns_of(table, partition_change):
    """The statements, in order; each is made when its turn comes."""
    yield lambda: table.merge()
    yield lambda: table.delete()
    yield lambda: table.add_column("added", ("struct", (("n", ("long",)),)))
    yield lambda: table.update()
    yield lambda: table.widen("c_int", ("long",))
    yield lambda: table.widen("c_float", ("double",))
    yield lambda: table.merge()
    yield lambda: table.rename("c_double", "renamed")
    yield lambda: table.widen_element("a", ("long",))
    yield lambda: table.add_field("s", "w", ("string",))
    yield lambda: table.widen("c_decimal7_2", ("decimal", 12, 2))
    yield lambda: table.merge()
    yield lambda: f"ALTER TABLE {table.name} {partition_change}"
    yield lambda: table.insert(8)
    yield lambda: table.drop_column("c_decimal9_0")
    yield lambda: table.merge(0.4)
    yield lambda: table.delete(0.3)
    yield lambda: table.merge()


def turns(run):
    """frazil and Spark change a table with all types in turns; after each change of rows all engines read it."""
    for number, (first, version, mode, partition, change) in enumerate(TURNS):
        label = f"in turns, v{version} {mode} by ({partition})"
        catalog, rng = new_catalog(run, f"turns_{number}"), random.Random(number)
        table = Table("ice.db.t", rng, ALL_TYPES)
        who, other = first, "spark" if first == "frazil" else "frazil"
        if not all(step(run, label, who, catalog, s) for s in ("CREATE NAMESPACE ice.db", table.create(partition, properties(version, mode)), table.insert(30))):
            continue
        run.compare(label + f", written by {who}", catalog, "db.t", table.expected(), bounds=who == "frazil")
        for count, statement in enumerate(turns_of(table, change)):
            who, other = other, who
            text = statement()
            if not step(run, f"{label}, step {count}", who, catalog, text):
                break
            if not text.startswith("ALTER"):
                run.compare(f"{label}, step {count}, {text.split()[0]} by {who}", catalog, "db.t", table.expected(), bounds=who == "frazil")
        if number in (0, 3, 4):
            metadata_tables(run, label, catalog, "ice.db.t")


# ---------------------------------------------------------------- Avro data files

# version, mode, partitioning, then changed to
AVRO_TURNS = [
    ("2", "copy-on-write", "", "ADD PARTITION FIELD years(c_date)"),
    ("2", "merge-on-read", "truncate(10, c_int)", "ADD PARTITION FIELD bucket(2, id)"),
    ("3", "merge-on-read", "months(c_timestamp)", "DROP PARTITION FIELD c_timestamp_month"),
]
FORMATS = "ALTER TABLE ice.db.t SET TBLPROPERTIES ('write.format.default'='{0}', 'write.delete.format.default'='{0}')"


def avro_turns(table, partition_change):
    """Statements by frazil and Spark in turns."""
    yield lambda: table.merge()
    yield lambda: table.delete()
    yield lambda: table.merge()
    yield lambda: table.add_column("added", ("struct", (("n", ("long",)),)))
    yield lambda: table.update()
    yield lambda: table.widen("c_int", ("long",))
    yield lambda: table.merge(0.4)
    yield lambda: f"ALTER TABLE {table.name} {partition_change}"
    yield lambda: table.delete(0.2)
    yield lambda: table.merge()
    yield lambda: table.merge()


def avro(run):
    """Spark writes Avro data and delete files, frazil changes the table (in Parquet) in turns with it. PyIceberg and DuckDB do not read Avro: they read
    the table at the end, when frazil has written all of it again as Parquet (but for deletes in Avro, which stay until they are rewritten)."""
    for number, (version, mode, partition, change) in enumerate(AVRO_TURNS):
        label = f"Avro, v{version} {mode} by ({partition})"
        catalog, rng = new_catalog(run, f"avro_{number}"), random.Random(100 + number)
        table = Table("ice.db.t", rng, ALL_TYPES)
        # changes by Spark first: what frazil changes has Avro files with deletes in Avro
        if not all(step(run, label, "spark", catalog, s) for s in (
                "CREATE NAMESPACE ice.db", table.create(partition, dict(properties(version, mode), **{"write.format.default": "avro"})), table.insert(30),
                table.merge(), table.delete())):
            continue
        run.compare(label + ", written by Spark", catalog, "db.t", table.expected(), without=("pyiceberg", "duckdb"))
        who, other = "spark", "frazil"
        for count, statement in enumerate(avro_turns(table, change)):
            who, other = other, who
            text = statement()
            if not step(run, f"{label}, step {count}", who, catalog, FORMATS.format("parquet" if who == "frazil" else "avro")) or \
                    not step(run, f"{label}, step {count}", who, catalog, text):
                break
            if not text.startswith("ALTER"):
                unasked = ("pyiceberg", "duckdb") if who == "frazil" else ("pyiceberg", "duckdb", "spark")  # each reads what the other wrote
                run.compare(f"{label}, step {count}, {text.split()[0]} by {who}", catalog, "db.t", table.expected(), without=unasked)
        files = run.sql("frazil", catalog, ["SELECT DISTINCT content, file_format FROM ice.db.t.all_files ORDER BY 1, 2"])[1]
        wanted = {("0", "AVRO"), ("0", "PARQUET")} | (set() if mode == "copy-on-write" else {("1", "PUFFIN")} if version == "3" else {("1", "AVRO"), ("1", "PARQUET")})
        run.note("passed" if wanted <= {tuple(row) for row in files} else "failed", f"{label}: the files that were read are {files}")
        if step(run, label, "frazil", catalog, FORMATS.format("parquet")) and \
                step(run, label, "frazil", catalog, "CALL ice.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'))"):
            run.compare(f"{label}, written again by frazil", catalog, "db.t", table.expected())


# ---------------------------------------------------------------- variants

VARIANT_STEPS = [
    "INSERT INTO {t} VALUES (1, parse_json('{{\"b\":1,\"a\":[1.50,\"x\",null,true]}}')), (2, parse_json('12')), (3, NULL), (4, parse_json('null')), (5, parse_json('\"text\"'))",
    "INSERT INTO {t} SELECT 10 + id, to_variant_object(named_struct('n', id, 'd', CAST(id AS DECIMAL(20,3)), 's', repeat('y', CAST(id AS INT) * 30), 'l', array(id, NULL), "
    "'t', TIMESTAMP '1965-01-02 03:04:05.678901', 'e', DATE '1965-01-02', 'f', CAST(id / 3 AS FLOAT), 'g', id / 3, 'x', X'00ff')) FROM range(4)",
    "UPDATE {t} SET v = parse_json('{{\"u\":{{\"w\":[1,{{\"q\":2e3}}]}},\"b\":-5}}') WHERE v:b::int = 1",
    "MERGE INTO {t} t USING (SELECT 2 AS id, '{{\"m\":300}}' AS j UNION ALL SELECT 20, '[70000,5000000000,12345678901234567890]' UNION ALL SELECT 5, 'bad') s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = try_parse_json(s.j) WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, parse_json(s.j))",
    "UPDATE {t} SET v = v:u.w[1] WHERE v:b::int = -5",
    "DELETE FROM {t} WHERE try_variant_get(v, '$.n', 'int') = 2",
    "INSERT INTO {t} SELECT id + 100, parse_json(concat('{{\"k', id, '\":', id, ',\"same\":\"', id, '\"}}')) FROM range(300)",
    "MERGE INTO {t} t USING (SELECT id + 90 AS id, parse_json(concat('{{\"r\":', id, '}}')) AS v FROM range(30)) s ON t.id = s.id "
    "WHEN MATCHED AND t.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
]
VARIANT_ROWS = "SELECT id, v IS NULL, is_variant_null(v), to_json(v), schema_of_variant(v), CAST(v AS STRING), try_variant_get(v, '$.n', 'double'), v:same::string FROM ice.db.{0} ORDER BY id"


def variants(run):
    """The same statements over variants by Spark, by frazil and by both in turns, plain, and shredded by Spark and changed by frazil (Spark 4.1 with Iceberg
    1.12 fails when it merges into variants that it shredded): both read all tables alike."""
    reference = None
    for mode, shred, writers in (("copy-on-write", "false", {"s": ["spark"], "f": ["frazil"], "turns": ["frazil", "spark"]}),
                                 ("merge-on-read", "false", {"f": ["frazil"], "turns": ["spark", "frazil"]}),
                                 ("merge-on-read", "true", {"shredded": ["spark", "spark", "spark"] + ["frazil"] * 6})):
        label = f"variants, {mode}, shredded {shred}"
        catalog = new_catalog(run, f"variants_{mode}_{shred}")
        props = ", ".join(f"'{k}'='{v}'" for k, v in dict(properties("3", mode), **{"write.parquet.shred-variants": shred}).items())
        step(run, label, "spark", catalog, "CREATE NAMESPACE ice.db")
        for name, who in writers.items():
            statements = [f"CREATE TABLE ice.db.{name} (id BIGINT, v VARIANT) USING iceberg TBLPROPERTIES ({props})"]
            statements += [text.format(t="ice.db." + name) for text in VARIANT_STEPS]
            if not all(step(run, f"{label}, {name}", who[i % len(who)], catalog, text) for i, text in enumerate(statements)):
                continue
            for reader in ("spark", "frazil"):
                rows = run.sql(reader, catalog, [VARIANT_ROWS.format(name)])[1]
                reference = reference or rows
                different = [(a, b) for a, b in zip(rows, reference) if a != b][:1]
                run.note("passed" if rows == reference else "failed", f"{label}: table {name} by {reader}: {len(rows)} rows {different or ''}")


# ---------------------------------------------------------------- metadata tables

METADATA_TABLES = ("snapshots", "history", "refs", "metadata_log_entries", "files", "data_files", "delete_files", "all_data_files", "all_delete_files", "manifests",
                   "all_manifests", "entries", "partitions")


def by_partition(columns, rows):
    """`partitions` without spec_id, one row a tuple: whether Iceberg shows the same tuple of two specs as one row depends on the specs."""
    at, found = [columns.index(c) for c in ("record_count", "file_count", "total_data_file_size_in_bytes", "position_delete_file_count", "equality_delete_file_count")], {}
    for row in rows:
        found.setdefault(row[0], []).append([int(row[i]) for i in at])
    return ["partition"] + [columns[i] for i in at], [[k] + [str(sum(x)) for x in zip(*v)] for k, v in found.items()]


def metadata_tables(run, label, catalog, table):
    """The metadata tables of one table, read by frazil and by Spark."""
    for name in METADATA_TABLES:
        where = f"{label}: metadata table {name}"
        try:
            answers = [run.sql(who, catalog, [f"SELECT * FROM {table}.{name}"]) for who in ("spark", "frazil")]
        except (Broken, Refused) as error:
            run.note("failed", f"{where}: {error}")
            continue
        if name == "partitions" and "spec_id" in answers[0][0]:
            answers = [by_partition(*a) for a in answers]
        (columns, rows), (other_columns, other_rows) = answers
        problem = None
        if columns != other_columns:
            problem = f"columns {columns} by Spark and {other_columns} by frazil"
        else:
            one, two = (sorted(x, key=lambda r: [(c is not None, c or "") for c in r]) for x in (rows, other_rows))
            if len(one) != len(two):
                problem = f"{len(one)} rows by Spark and {len(two)} by frazil"
            elif one != two:
                x, y = next((x, y) for x, y in zip(one, two) if x != y)
                problem = "; ".join(f"{c} is {p!r:.300} by Spark and {q!r:.300} by frazil" for c, p, q in zip(columns, x, y) if p != q)
        run.note("failed" if problem else "passed", f"{where}: {problem or len(rows)}")


# ---------------------------------------------------------------- PyIceberg

PYICEBERG_TYPES = [("c_" + "_".join(map(str, t)), t) for t in PRIMITIVES] + [
    ("s", ("struct", (("x", ("int",)), ("y", ("string",))))), ("a", ("list", ("long",))), ("m", ("map", ("string",), ("double",)))]
OWN_TYPES = [("c_time", ("time",)), ("c_uuid", ("uuid",)), ("c_fixed", ("fixed", 5))]


def pyiceberg_write(run, catalog, table, **what):
    run.engine("pyiceberg").ask(catalog=catalog, write="db.t", what=base64.b64encode(pickle.dumps(what)).decode())


def pyiceberg(run):
    """PyIceberg makes and fills tables; frazil reads them and merges into them, PyIceberg deletes and appends, Spark merges."""
    for number, (version, partition, types) in enumerate((("2", [], PYICEBERG_TYPES), ("2", [("c_string", "identity"), ("c_timestamp", "day")], PYICEBERG_TYPES),
                                                         ("1", [("id", "bucket[3]")], PYICEBERG_TYPES), ("2", [("c_date", "month")], PYICEBERG_TYPES[:6] + [("c_date", ("date",))] + OWN_TYPES))):
        label = f"by PyIceberg, v{version} by {partition}" + (", uuid, time, fixed" if types[-1] == OWN_TYPES[-1] else "")
        catalog, rng = new_catalog(run, f"pyiceberg_{number}"), random.Random(100 + number)
        types = [c for i, c in enumerate(types) if c not in types[:i]]
        table = Table("ice.db.t", rng, types)
        columns = [(n, t) for _, n, t in table.columns]
        own = types[-1] == OWN_TYPES[-1]

        def append(n):
            rows = [[row[key] for key, _, _ in table.columns] for row in table.insert_rows(n)]
            pyiceberg_write(run, catalog, "db.t", columns=columns, rows=rows, partition=partition, properties={"format-version": version})

        append(25)
        run.compare(label, catalog, "db.t", table.expected())
        if own:  # Spark's SQL has no words for these types: rows are deleted and copied
            if step(run, label, "frazil", catalog, table.delete()):
                run.compare(label + ", DELETE by frazil", catalog, "db.t", table.expected(), bounds=True)
            continue
        for who in ("frazil", "spark", "pyiceberg", "frazil"):
            if who == "pyiceberg":
                gone = table.some_ids(0.2)
                for i in gone:
                    del table.rows[i]
                pyiceberg_write(run, catalog, "db.t", delete=" or ".join(f"id == {i}" for i in gone))
                append(5)
            elif not step(run, label, who, catalog, table.merge()):
                break
            run.compare(f"{label}, changed by {who}", catalog, "db.t", table.expected(), bounds=who == "frazil")


# ---------------------------------------------------------------- random tables

def random_table(run, seed):
    rng = random.Random(seed)
    columns = [(f"c{i}", random_type(rng)) for i in range(rng.randint(2, 9))]
    version, mode = rng.choice((("1", "copy-on-write"), ("2", "copy-on-write"), ("2", "merge-on-read"), ("3", "merge-on-read"), ("3", "copy-on-write")))
    fields = [x for x in (random_transform(rng, n, t) for n, t in rng.sample(columns, rng.randint(0, 2))) if x]
    label = f"random table {seed}, v{version} {mode} by ({', '.join(fields)})"
    catalog, table = new_catalog(run, f"random_{seed}"), Table("ice.db.t", rng, columns)
    statements = ["CREATE NAMESPACE ice.db", table.create(", ".join(fields), properties(version, mode)), table.insert(rng.choice((1, 5, 60)))]
    for _ in range(rng.randint(1, 4)):
        statements.append(rng.choice((table.merge, table.merge, table.update, table.delete, lambda: table.insert(10)))())
    if all(step(run, label, "frazil", catalog, s) for s in statements):
        run.compare(label, catalog, "db.t", table.expected(), bounds=True)


def random_tables(run):
    """Tables of random types, nesting, partitioning and changes, written by frazil."""
    for seed in range(run.args.seed, run.args.seed + run.args.tables):
        random_table(run, seed)


# ---------------------------------------------------------------- snapshot summaries

OWN_KEYS = ("spark.app.id", "app-id", "app-name", "engine-name", "engine-version", "iceberg-version")
SUMMARY_STEPS = [
    "MERGE INTO {t} t USING (SELECT 1000L AS id, 1 AS p, 'e' AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "INSERT INTO {t} SELECT id, CAST(id % 3 AS INT), concat('v', id) FROM range(1, 31)",
    "INSERT INTO {t} VALUES (100, 9, 'x')",
    "INSERT INTO {t} SELECT id, 1, 'none' FROM range(0)",
    "DELETE FROM {t} WHERE id IN (4, 5)",
    "DELETE FROM {t} WHERE id = 4711",
    "UPDATE {t} SET v = 'u' WHERE id BETWEEN 7 AND 9",
    "MERGE INTO {t} t USING (SELECT id, CAST(id % 3 AS INT) AS p, 'm' AS v FROM range(10, 41)) s ON t.id = s.id WHEN MATCHED AND t.id < 13 THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {t} t USING (SELECT 20L AS id, 2 AS p, 'mm' AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
    "MERGE INTO {t} t USING (SELECT 900L AS id, 0 AS p, 'i' AS v) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {t} t USING (SELECT 777L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "MERGE INTO {t} t USING (SELECT 1L AS id UNION ALL SELECT 20L) s ON t.id = s.id WHEN NOT MATCHED BY SOURCE AND t.id > 30 THEN UPDATE SET v = 'by' ",
    "UPDATE {t} SET p = 1 WHERE id IN (14, 20)",
    "DELETE FROM {t} WHERE p = 2",
    "INSERT OVERWRITE {t} SELECT 5000, 1, 'over'",
    "DELETE FROM {t}",
    "MERGE INTO {t} t USING (SELECT 1L AS id, 1 AS p, 'e' AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {t} t USING (SELECT 1L AS id, 2 AS p, 'f' AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
]


def summaries(run):
    """The same statements by Spark and by frazil, each on a table of its own: the summaries of all snapshots, key by key."""
    for version, mode in (("1", "copy-on-write"), ("2", "copy-on-write"), ("2", "merge-on-read"), ("3", "copy-on-write"), ("3", "merge-on-read")):
        for partition in ("", "p"):
            label = f"summaries, v{version} {mode}" + (f" by ({partition})" if partition else "")
            answers = []
            for who in ("spark", "frazil"):
                catalog = new_catalog(run, f"summaries_{who}_v{version}_{mode}_{partition}")
                create = f"CREATE TABLE ice.db.t (id BIGINT, p INT, v STRING) USING iceberg {f'PARTITIONED BY ({partition})' if partition else ''} TBLPROPERTIES ("
                statements = ["CREATE NAMESPACE ice.db", create + ", ".join(f"'{k}'='{v}'" for k, v in properties(version, mode).items()) + ")"]
                statements += [s.format(t="ice.db.t") for s in SUMMARY_STEPS]
                try:
                    run.sql(who, catalog, statements)
                    answers.append(run.sql(who, catalog, ["SELECT operation, summary, parent_id IS NULL FROM ice.db.t.snapshots ORDER BY committed_at"])[1])
                except (Broken, Refused) as error:
                    run.note("failed", f"{label} by {who}: {error}")
            if len(answers) < 2:
                continue
            if len(answers[0]) != len(answers[1]):
                run.note("failed", f"{label}: {len(answers[0])} snapshots by Spark, {len(answers[1])} by frazil")
            for i, (a, b) in enumerate(zip(*answers)):
                one, two = ({k: v for k, v in dict(json.loads(x[1]), operation=x[0]).items() if k not in OWN_KEYS and not k.startswith("frazil.")} for x in (a, b))
                sizes = [k for k in one if k.endswith("files-size")]
                one, two = (dict(x, **{k: "some" if x.get(k, "0") != "0" else x.get(k) for k in sizes}) for x in (one, two))
                differing = [f"{k} {one.get(k)} by Spark and {two.get(k)} by frazil" for k in sorted(set(one) | set(two)) if one.get(k) != two.get(k)]
                run.note("failed" if differing else "passed", f"{label}, snapshot {i} [{SUMMARY_STEPS[min(i, len(SUMMARY_STEPS) - 1)][:60]}]: {'; '.join(differing) or one['operation']}")


# ---------------------------------------------------------------- what the demo and the tests left behind

def leftovers(run):
    """Every table of the demo and of the conformance files that have row changes, as their last statement left it."""
    demo = os.path.join(run.args.demo, "catalog.db")
    if os.path.exists(demo):
        run.compare_catalog("demo", os.path.abspath(demo))
    else:
        run.note("skipped", f"demo: {run.args.demo} is not there (make demo)")
    folder = os.path.join(run.folder, "conformance")
    os.makedirs(folder)
    conformance = os.path.join(HERE, "..", "conformance")
    subprocess.run([sys.executable, os.path.join(conformance, "run_frazil.py"), "--frazil", run.args.frazil, "--work", folder, "--keep-all",
                    *(os.path.join(conformance, x) for x in ("merge", "seeds", "dml", "ddl"))], stdout=subprocess.DEVNULL, check=False)
    for db in sorted(glob.glob(folder + "/*/catalog.db")):
        with open(os.path.join(os.path.dirname(db), "name"), encoding="utf-8") as f:
            name = f.read()
        if "orders_200k" not in name:  # the demo's tables again
            run.compare_catalog(name, db)


# ---------------------------------------------------------------- tables of other writers, changed by frazil

def foreign(run):
    """What test/model/run_tables.py leaves of the tables in ../shared/data/iceberg: read by those that could read the table before."""
    script, folder = os.path.join(HERE, "..", "model", "run_tables.py"), os.path.join(run.folder, "foreign")
    os.makedirs(folder)
    out = subprocess.run([sys.executable, script, "--frazil", run.args.frazil, "--seed", str(run.args.seed), "--keep", folder], stdout=subprocess.PIPE, text=True, check=False)
    if not os.path.exists(os.path.join(folder, "kept.json")):
        run.note("skipped", "tables of other writers: " + out.stdout.strip().splitlines()[0])
        return
    data = os.path.join(os.environ.get("FRAZIL_SHARED_DATA", os.path.join(HERE, "..", "..", "..", "shared", "data")), "iceberg", "tables", "expect")
    with open(os.path.join(folder, "kept.json"), encoding="utf-8") as f:
        kept = json.load(f)
    kept.sort(key=lambda one: one["name"])
    for one in random.Random(run.args.seed).sample(kept, min(len(kept), 30)):  # within its time
        with open(os.path.join(data, one["name"], "table.json"), encoding="utf-8") as f:
            readers = (json.load(f).get("current") or {}).get("readers", {})
        unable = [r for r in ("spark", "pyiceberg", "duckdb") if readers.get(r) != "same"]
        unable += ["duckdb"] if one["name"].endswith(".nested") else []  # keys that are structs come as text in engine.py
        unable += ["duckdb"] if one["equality_deletes"] else []  # 1.5.5: an internal error for equality deletes with NULL, and rows that stay
        unable += ["duckdb"] if one["upgraded"] else []  # 1.5.5 wants sequence numbers in manifests of version 1, which have none
        catalog = {"db": one["db"], "name": "ice", "warehouse": os.path.join(os.path.dirname(one["db"]), "warehouse")}
        run.compare(f"changed table {one['name']}", catalog, "db." + one["table"], without=unable)


ALL = {"turns": (turns, ["spark"]), "pyiceberg": (pyiceberg, ["pyiceberg", "spark"]), "random": (random_tables, []), "summaries": (summaries, ["spark"]),
       "avro": (avro, ["spark"]), "variants": (variants, ["spark"]),
       "leftovers": (leftovers, []), "foreign": (foreign, [])}
