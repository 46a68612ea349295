#!/usr/bin/env python3
"""frazil against Spark, PyIceberg and DuckDB: every engine must read the same rows.

  run_interop.py [--frazil PROGRAM] [--catalogs FILE] [--demo FOLDER] [--scenario NAME]... [--tables N] [--seed N] [-v]

Scenarios (scenarios.py): tables that frazil, Spark and PyIceberg wrote and changed in turns, each step compared with a model of the table in
Python; seeded random tables; metadata tables and snapshot summaries of frazil beside Spark's; every table that the demo and the conformance
files leave behind. Column bounds, counts and partition values in manifests are checked against the data.
Engines: $PY_SPARK and $CONFORMANCE_JARS, $PY_PEERS, $PY_DUCKICE and $FRAZIL_DUCKDB_EXTENSIONS (tools/services/oracles.sh spark peers duckice);
one that is not set is left out, and so are the scenarios that need it. Ends with `N passed, N failed, N skipped`, counted in comparisons.
"""
import argparse
import concurrent.futures
import json
import os
import queue
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "conformance"))
sys.path.insert(0, HERE)
from run_frazil import Broken, Frazil, Refused  # noqa: E402
import scenarios  # noqa: E402

PYTHONS = {"spark": "PY_SPARK", "pyiceberg": "PY_PEERS", "duckdb": "PY_DUCKICE"}

# What a reader cannot do, by (engine, part of its message): such a comparison is skipped, not failed.
CANNOT = [
    ("pyiceberg", "Unsupported file format: puffin"),
    ("pyiceberg", "Unsupported file format: FileFormat.AVRO"),
    ("pyiceberg", "Cannot parse type string"),
    ("pyiceberg", "is not supported"),
    ("pyiceberg", "does not yet support equality deletes"),
    ("duckdb", "Not implemented Error"),
    ("duckdb", "Unrecognized primitive type"),
    ("duckdb", "must return at least one column"),
    ("pyiceberg", "Unsupported field type: 'variant'"),
    ("spark", "Spark does not support time fields"),
    ("spark", "year 0 is out of range"),
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
        self.engines, self.pool = {}, concurrent.futures.ThreadPoolExecutor(4)
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
        """Runs statements in one process; names of columns and rows of the last one."""
        key = "spark.sql.catalog." + catalog["name"]
        conf = {key: "org.apache.iceberg.spark.SparkCatalog", key + ".type": "jdbc", key + ".uri": "jdbc:sqlite:" + catalog["db"],
                key + ".warehouse": catalog["warehouse"], "spark.sql.defaultCatalog": catalog["name"], "spark.sql.session.timeZone": "UTC"}
        process = Frazil(self.args.frazil, self.folder, conf, 300)
        try:
            for statement in statements:
                answer = process.ask(statement)
            return [c["name"] for c in answer[0]], answer[1]
        finally:
            status, words = process.close()
            if status != 0:
                raise Broken(f"frazil ended with status {status}: {words}")

    def sql(self, who, catalog, statements):
        if who == "frazil":
            return self.frazil(catalog, statements)
        answer = self.engine(who).ask(catalog=catalog, sql=statements)
        return answer["columns"], answer["rows"]

    def read(self, name, catalog, table, metadata):
        if name == "frazil":
            return self.frazil(catalog, ["SELECT * FROM " + quoted(catalog["name"] + "." + table)])
        answer = self.engine(name).ask(catalog=catalog, read=table, metadata=metadata)
        return answer["columns"], answer["rows"]

    def read_or_error(self, name, *request):
        """Columns and rows, or what went wrong; None when that engine is not installed."""
        if name != "frazil" and not self.available(name):
            return None
        try:
            return self.read(name, *request)
        except (Broken, Refused) as error:
            return error

    def compare(self, label, catalog, table, expected=None, bounds=False, without=()):
        """One comparison per engine: with the expected columns and rows, else all with the first that can read the table; not for those in `without`."""
        metadata = metadata_of(catalog, table)
        reference, reference_name = (ordered(*expected) if expected else None), "the model"
        readers = [r for r in ("spark", "frazil", "pyiceberg", "duckdb") if r not in without]
        answers = self.pool.map(lambda name: self.read_or_error(name, catalog, table, metadata), readers)
        for name, answer in zip(readers, answers):
            where = f"{label}: {table} by {name}"
            if answer is None:
                self.note("skipped", where + ": not installed")
                continue
            if isinstance(answer, Exception):
                cannot = any(name == engine and part in str(answer) for engine, part in CANNOT)
                self.note("skipped" if cannot else "failed", f"{where}: {answer}")
                continue
            columns, rows = answer
            got = ordered(columns, rows)
            if reference is None:
                reference, reference_name = got, name
                self.note("passed", f"{where}: {len(rows)} rows")
            elif not columns and not reference[0]:  # all columns were dropped; only Spark counts rows without columns
                self.note("passed", where)
            elif got != reference and not (name == "pyiceberg" and same_but_empty(reference, got)):
                self.note("failed", f"{where} differs from {reference_name}: {first_difference(reference, got)}")
            else:
                self.note("passed", f"{where}: {len(rows)} rows")
        if bounds:
            self.bounds(label, table, metadata)

    def compare_catalog(self, label, db):
        """Every table of a SQLite catalog file."""
        for catalog, tables in tables_of(db):
            for table in tables:
                self.compare(label, catalog, table, bounds=True)

    def bounds(self, label, table, metadata):
        """Counts, bounds and partition values of manifests against the data."""
        where = f"{label}: {table}, counts and bounds"
        if not self.available("pyiceberg"):
            self.note("skipped", where + ": not installed")
            return
        try:
            answer = self.engine("pyiceberg").ask(bounds=metadata)
        except Broken as error:
            cannot = any(part in str(error) for engine, part in CANNOT if engine == "pyiceberg")
            self.note("skipped" if cannot else "failed", f"{where}: {error}")
            return
        self.note("failed" if answer["problems"] else "passed", f"{where}: {answer['files']} files; " + "; ".join(answer["problems"][:4]))


def quoted(name):
    return ".".join("`" + part.replace("`", "``") + "`" for part in name.split("."))


def ordered(columns, rows):
    return list(columns), sorted((list(r) for r in rows), key=lambda r: [(c is not None, c or "") for c in r])


def same_but_empty(a, b):
    """PyIceberg makes an empty list or map of NULL when it has to adapt what is inside (0.12)."""
    return a[0] == b[0] and len(a[1]) == len(b[1]) and all(
        p == q or p is None and q in ("[]", "{}") for x, y in zip(a[1], b[1]) for p, q in zip(x, y))


def first_difference(a, b):
    if a[0] != b[0]:
        return f"columns {a[0]} and {b[0]}"
    if len(a[1]) != len(b[1]):
        return f"{len(a[1])} rows and {len(b[1])} rows"
    x, y = next((x, y) for x, y in zip(a[1], b[1]) if x != y)
    at = [i for i, (p, q) in enumerate(zip(x, y)) if p != q]
    return f"row {x[:1]}: " + ", ".join(f"{a[0][i]} is {x[i]!r:.200} and {y[i]!r:.200}" for i in at[:3])


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


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--catalogs", help="a file with one SQLite catalog file a line: their tables are compared, and no scenario runs unless named")
    ap.add_argument("--demo", default=os.path.join(HERE, "..", "..", "build", "demo", "frazil-warehouse"), help="what `make demo` left behind")
    ap.add_argument("--scenario", action="append", choices=list(scenarios.ALL))
    ap.add_argument("--frazil", default=os.path.join(HERE, "..", "..", "build", "frazil"), help="the program")
    ap.add_argument("--tables", type=int, default=36, help="how many random tables")
    ap.add_argument("--seed", type=int, default=1, help="of the random tables")
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
                    if db and not db.startswith("#"):
                        run.compare_catalog(db, os.path.abspath(db))
        for name in args.scenario or ([] if args.catalogs else scenarios.ALL):
            scenario, needs = scenarios.ALL[name]
            missing = [n for n in needs if not run.available(n)]
            if missing:
                run.note("skipped", f"scenario {name}: needs {', '.join(missing)}")
                continue
            before, started = dict(run.count), time.time()
            try:
                scenario(run)
            except (Broken, Refused) as error:
                run.note("failed", f"scenario {name}: {error}")
            print(f"{name}: " + ", ".join(f"{run.count[k] - before[k]} {k}" for k in before) + f" ({time.time() - started:.0f} s)", flush=True)
    finally:
        run.close()
    print(f"{run.count['passed']} passed, {run.count['failed']} failed, {run.count['skipped']} skipped")
    return 1 if run.count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
