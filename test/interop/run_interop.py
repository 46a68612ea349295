#!/usr/bin/env python3
"""frazil against Spark, PyIceberg and DuckDB: every engine must read the same rows.

  run_interop.py [--catalogs FILE] [--scenario NAME]... [--no-scenarios]

--catalogs FILE: one SQLite catalog file a line (what demos and tests left behind); every table in it is read by all four engines and
compared row for row. Scenarios: tables written by Spark and by PyIceberg are read by frazil, frazil MERGEs into them, Spark MERGEs again
into what frazil wrote, and after each step all engines are compared and the row count checked.
Engines: $PY_SPARK and $CONFORMANCE_JARS, $PY_PEERS, $PY_DUCKICE and $FRAZIL_DUCKDB_EXTENSIONS (tools/services/oracles.sh spark peers duckice);
one that is not set is left out, and so are the scenarios that need it. Ends with `N passed, N failed, N skipped`, counted in comparisons.
"""
import argparse
import json
import os
import queue
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "conformance"))
from run_frazil import Broken, Frazil, Refused  # noqa: E402

PYTHONS = {"spark": "PY_SPARK", "pyiceberg": "PY_PEERS", "duckdb": "PY_DUCKICE"}

# What a reader cannot do, by (engine, part of its message): such a comparison is skipped, not failed.
CANNOT = [
    ("pyiceberg", "Unsupported file format: puffin"),
    ("pyiceberg", "Cannot parse type string"),
    ("pyiceberg", "is not supported"),
    ("duckdb", "Not implemented Error"),
]


class Engine:
    """A process that answers one line per request (engine.py)."""

    def __init__(self, name, folder):
        self.name = name
        self.log = open(os.path.join(folder, name + ".log"), "w+b")
        self.process = subprocess.Popen([os.environ[PYTHONS[name]], os.path.join(HERE, "engine.py"), name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, cwd=folder)
        self.lines = queue.Queue()
        threading.Thread(target=self.pump, daemon=True).start()

    def pump(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=300)
        except (OSError, queue.Empty):
            line = None
        if line is None:
            self.log.seek(0)
            raise Broken(f"{self.name} does not answer: {self.log.read()[-800:].decode(errors='replace')}")
        answer = json.loads(line)
        if not answer["ok"]:
            raise Broken(f"{self.name}: {answer['message']}")
        return answer

    def close(self):
        try:
            self.process.stdin.close()
            self.process.wait(timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.log.close()


class Interop:
    def __init__(self, args):
        self.args = args
        self.folder = tempfile.mkdtemp(prefix="interop_", dir=args.work)
        self.engines = {}
        self.count = {"passed": 0, "failed": 0, "skipped": 0}

    def available(self, name):
        return bool(os.environ.get(PYTHONS[name]))

    def engine(self, name):
        if name not in self.engines:
            self.engines[name] = Engine(name, self.folder)
        return self.engines[name]

    def close(self):
        for engine in self.engines.values():
            engine.close()
        if not (self.args.keep and self.count["failed"]):
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            print(f"kept {self.folder}")

    def note(self, status, text):
        self.count[status] += 1
        if status != "passed" or self.args.v:
            print(f"{status}: {text}", flush=True)

    def frazil(self, catalog, statements):
        """Runs statements in one process; the answer of the last one."""
        key = "spark.sql.catalog." + catalog["name"]
        conf = {key: "org.apache.iceberg.spark.SparkCatalog", key + ".type": "jdbc", key + ".uri": "jdbc:sqlite:" + catalog["db"],
                key + ".warehouse": catalog["warehouse"], "spark.sql.defaultCatalog": catalog["name"], "spark.sql.session.timeZone": "UTC"}
        process = Frazil(self.args.frazil, self.folder, conf, 300)
        try:
            for statement in statements:
                answer = process.ask(statement)
            return answer
        finally:
            process.close()

    def read(self, name, catalog, table, metadata):
        if name == "frazil":
            columns, rows = self.frazil(catalog, ["SELECT * FROM " + quoted(catalog["name"] + "." + table)])
            return [c["name"] for c in columns], rows
        answer = self.engine(name).ask(catalog=catalog, read=table, metadata=metadata)
        return answer["columns"], answer["rows"]

    def compare(self, label, catalog, table, rows_expected=None):
        """One comparison per engine, all against the first that can read the table (Spark before the others)."""
        metadata = metadata_of(catalog, table)
        reference, reference_name = None, None
        for name in ("spark", "frazil", "pyiceberg", "duckdb"):
            where = f"{label}: {table} by {name}"
            if name != "frazil" and not self.available(name):
                self.note("skipped", where + ": not installed")
                continue
            try:
                columns, rows = self.read(name, catalog, table, metadata)
            except (Broken, Refused) as error:
                cannot = any(name == engine and part in str(error) for engine, part in CANNOT)
                self.note("skipped" if cannot else "failed", f"{where}: {error}")
                continue
            got = (list(columns), sorted(rows, key=lambda r: [(c is not None, c or "") for c in r]))
            if rows_expected is not None and len(rows) != rows_expected:
                self.note("failed", f"{where}: {len(rows)} rows instead of {rows_expected}")
            elif reference is None:
                reference, reference_name = got, name
                self.note("passed", f"{where}: {len(rows)} rows")
            elif got != reference:
                self.note("failed", f"{where} differs from {reference_name}: {first_difference(reference, got)}")
            else:
                self.note("passed", where)


def quoted(name):
    return ".".join("`" + part.replace("`", "``") + "`" for part in name.split("."))


def first_difference(a, b):
    if a[0] != b[0]:
        return f"columns {a[0]} and {b[0]}"
    if len(a[1]) != len(b[1]):
        return f"{len(a[1])} rows and {len(b[1])} rows"
    return next(f"row {x} and row {y}" for x, y in zip(a[1], b[1]) if x != y)


def tables_of(db):
    """(catalog, [table]) of a SQLite catalog file, from the layout that Iceberg's JDBC catalog gives it."""
    with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(iceberg_tables)")]
        only_tables = " WHERE iceberg_type IS NULL OR iceberg_type = 'TABLE'" if "iceberg_type" in columns else ""
        rows = connection.execute("SELECT catalog_name, table_namespace, table_name, metadata_location FROM iceberg_tables" + only_tables).fetchall()
    found = {}
    for name, namespace, table, metadata in rows:
        warehouse = os.path.dirname(db) + "/warehouse"
        found.setdefault(name, ({"db": db, "name": name, "warehouse": warehouse}, []))[1].append(f"{namespace}.{table}")
    return list(found.values())


def metadata_of(catalog, table):
    namespace, _, name = table.rpartition(".")
    with sqlite3.connect(f"file:{catalog['db']}?mode=ro", uri=True) as connection:
        row = connection.execute("SELECT metadata_location FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?",
                                 (catalog["name"], namespace, name)).fetchone()
    return row[0] if row else ""

# ---------------------------------------------------------------- scenarios

COLUMNS = ("id BIGINT, cat STRING, n INT, price DECIMAL(10,2), at TIMESTAMP, day DATE, f FLOAT, d DOUBLE, ok BOOLEAN, raw BINARY, "
           "s STRUCT<x: INT, y: STRING>, a ARRAY<INT>, m MAP<STRING, INT>")
ROW = ("id, concat('c', id % 3) AS cat, CAST(id * 10 AS INT) AS n, CAST(id + 0.25 AS DECIMAL(10,2)) AS price, "
       "TIMESTAMP '2024-01-01 00:00:00' + make_interval(0,0,0,0,0,0,id) AS at, date_add(DATE '2024-01-01', CAST(id AS INT)) AS day, "
       "CAST(id + 0.1 AS FLOAT) AS f, CAST(id AS DOUBLE) / 3 AS d, id % 2 = 0 AS ok, CAST(concat('r', id) AS BINARY) AS raw, "
       "named_struct('x', CAST(id AS INT), 'y', CASE WHEN id % 5 = 0 THEN NULL ELSE concat('y', id) END) AS s, "
       "array(CAST(id AS INT), NULL) AS a, map('k', CAST(id AS INT)) AS m")


def merge(table, first, last):
    """Updates what is there, deletes every seventh, inserts the rest of first..last."""
    return (f"MERGE INTO {table} t USING (SELECT {ROW} FROM range({first}, {last + 1})) s ON t.id = s.id "
            "WHEN MATCHED AND s.id % 7 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + 1, cat = s.cat, s.y = 'merged' "
            "WHEN NOT MATCHED THEN INSERT *")


def count_after(ids, first, last):
    """The ids after that MERGE."""
    sent = set(range(first, last + 1))
    return {i for i in ids if i not in sent or i % 7 != 0} | (sent - ids)


def rounds(run, label, catalog, table, ids):
    """frazil reads, frazil merges, Spark merges, frazil merges again; everybody is compared in between."""
    name = quoted(catalog["name"] + "." + table)
    run.compare(label + ", as written", catalog, table, len(ids))
    for step, (who, first, last) in enumerate((("frazil", 40, 130), ("spark", 90, 160), ("frazil", 1, 20)), 1):
        statement = merge(name, first, last)
        try:
            if who == "spark":
                run.engine("spark").ask(catalog=catalog, sql=[statement])
            else:
                run.frazil(catalog, [statement])
        except (Broken, Refused) as error:
            run.note("failed", f"{label}, step {step}: MERGE by {who}: {error}")
            return
        ids = count_after(ids, first, last)
        run.compare(f"{label}, step {step}, MERGE by {who}", catalog, table, len(ids))


def new_catalog(run, name):
    folder = os.path.join(run.folder, name)
    os.makedirs(os.path.join(folder, "warehouse"))
    return {"db": os.path.join(folder, "catalog.db"), "name": "ice", "warehouse": os.path.join(folder, "warehouse")}


def spark_written(run):
    for version, mode, partition in (("1", "copy-on-write", ""), ("2", "copy-on-write", "PARTITIONED BY (cat)"),
                                     ("2", "merge-on-read", "PARTITIONED BY (bucket(4, id))"), ("3", "merge-on-read", "PARTITIONED BY (days(at))")):
        label = f"written by Spark, v{version} {mode}"
        catalog = new_catalog(run, f"spark_v{version}_{mode}")
        properties = ", ".join(f"'write.{what}.mode'='{mode}'" for what in ("delete", "update", "merge"))
        run.engine("spark").ask(catalog=catalog, sql=[
            "CREATE NAMESPACE ice.db",
            f"CREATE TABLE ice.db.t ({COLUMNS}) USING iceberg {partition} TBLPROPERTIES ('format-version'='{version}', {properties})",
            f"INSERT INTO ice.db.t SELECT {ROW} FROM range(1, 101)",
            "DELETE FROM ice.db.t WHERE id IN (3, 50)"])
        rounds(run, label, catalog, "db.t", set(range(1, 101)) - {3, 50})


def pyiceberg_written(run):
    catalog = new_catalog(run, "pyiceberg")
    ids = list(range(1, 101))
    run.engine("pyiceberg").ask(catalog=catalog, create="db.t", properties={"format-version": "2"}, arrow={
        "id": ["int64", ids], "cat": ["string", [f"c{i % 3}" for i in ids]], "n": ["int32", [i * 10 for i in ids]]})
    label, name = "written by PyIceberg", "ice.db.t"
    run.compare(label, catalog, "db.t", 100)
    expected = set(ids)
    for step, (who, first, last) in enumerate((("frazil", 40, 130), ("spark", 90, 160)), 1):
        statement = (f"MERGE INTO {name} t USING (SELECT id, concat('c', id % 3) AS cat, CAST(id * 10 AS INT) AS n FROM range({first}, {last + 1})) s "
                     "ON t.id = s.id WHEN MATCHED AND s.id % 7 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + 1 WHEN NOT MATCHED THEN INSERT *")
        try:
            if who == "frazil":
                run.frazil(catalog, [statement])
            elif run.available("spark"):
                run.engine("spark").ask(catalog=catalog, sql=[statement])
            else:
                return
        except (Broken, Refused) as error:
            run.note("failed", f"{label}, step {step}: MERGE by {who}: {error}")
            return
        expected = count_after(expected, first, last)
        run.compare(f"{label}, step {step}, MERGE by {who}", catalog, "db.t", len(expected))


def frazil_written(run):
    catalog = new_catalog(run, "frazil")
    try:
        run.frazil(catalog, ["CREATE NAMESPACE ice.db", f"CREATE TABLE ice.db.t ({COLUMNS}) USING iceberg PARTITIONED BY (cat, days(at))",
                             f"INSERT INTO ice.db.t SELECT {ROW} FROM range(1, 101)"])
    except (Broken, Refused) as error:
        run.note("failed", f"written by frazil: {error}")
        return
    rounds(run, "written by frazil", catalog, "db.t", set(range(1, 101)))


SCENARIOS = {"spark": (spark_written, ["spark"]), "pyiceberg": (pyiceberg_written, ["pyiceberg"]), "frazil": (frazil_written, ["spark"])}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--catalogs", help="a file with one SQLite catalog file a line")
    ap.add_argument("--scenario", action="append", choices=sorted(SCENARIOS))
    ap.add_argument("--no-scenarios", action="store_true")
    ap.add_argument("--frazil", default=os.path.join(HERE, "..", "..", "build", "frazil"), help="the program")
    ap.add_argument("--work", help="scratch folder")
    ap.add_argument("--keep", action="store_true", help="keep the scratch folder when something failed")
    ap.add_argument("-v", action="store_true", help="a line per comparison")
    args = ap.parse_args()
    args.frazil = os.path.abspath(args.frazil)
    if not os.access(args.frazil, os.X_OK):
        sys.exit(f"{args.frazil}: no such program; build it first or pass --frazil")
    run = Interop(args)
    try:
        if args.catalogs:
            with open(args.catalogs, encoding="utf-8") as f:
                for db in (line.strip() for line in f):
                    for catalog, tables in tables_of(os.path.abspath(db)) if db and not db.startswith("#") else []:
                        for table in tables:
                            run.compare(db, catalog, table)
        for name in [] if args.no_scenarios else args.scenario or SCENARIOS:
            scenario, needs = SCENARIOS[name]
            missing = [n for n in needs if not run.available(n)]
            if missing:
                run.note("skipped", f"scenario {name}: needs {', '.join(missing)}")
                continue
            try:
                scenario(run)
            except Broken as error:
                run.note("failed", f"scenario {name}: {error}")
    finally:
        run.close()
    print(f"{run.count['passed']} passed, {run.count['failed']} failed, {run.count['skipped']} skipped")
    return 1 if run.count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
