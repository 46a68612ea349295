#!/usr/bin/env python3
"""Random MERGE, UPDATE, DELETE and INSERT on tables that other writers made, against the row-by-row model of run_model.py.

usage: run_tables.py [--frazil PROGRAM] [--seed N] [--rounds N] [--jobs N] [--table PART_OF_NAME]

The tables are those of ../shared/data/iceberg (or $FRAZIL_SHARED_DATA/iceberg) that frazil can read and write: by Spark, PyIceberg, Impala,
Trino, DuckDB and Polars, versions 1 to 3, with position deletes, deletion vectors, equality deletes, several specs and schemas, name mappings,
sort orders, defaults and lineage. Each is copied, registered in a catalog, compared with its recorded rows, and then changed: in copy-on-write
mode and in merge-on-read mode by turns (both with --rounds 2, and then the largest tables too; version 1 tables are raised to 2 for merge-on-read). A table that frazil does
not read (ORC, Avro, variants) must refuse to be changed and stay as it is. Without the material everything is skipped.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import sys
import threading
import time

import generate
import statements as st
from foreign import Foreign, data_folder
from run_model import Broken, Engine, Refused, Worker, script

# Not in Iceberg Java either, or not a table that can be told apart by names.
LEFT_OUT = {
    "duckdb/case_sensitive_names.default.db.case_sensitive_names": "two columns whose names differ in case only",
    "impala/iceberg_migrated_complex_test": "no reader at hand gives its rows",
    "duckdb/generated_bounds": "its data files are nowhere",
    "impala/ice.iceberg_uppercase_col": "its files are not part of the material",
}
LARGE = ("duckdb/iceberg.lineitem_iceberg_gz_no_hint", "duckdb/iceberg.lineitem_iceberg_no_hint", "spark/hadoop.db.v3_dv_big",
         "impala/ice.iceberg_lineitem_multiblock")  # a minute each
MODES = ("copy-on-write", "merge-on-read")


def unsupported(message):
    return any(word in message for word in ("ORC", "AVRO", "orc", "avro", "variant"))


class TableWorker(Worker):
    def __init__(self, args, folder, names):
        super().__init__(args)
        self.folder, self.names, self.left, self.place = folder, names, [], None

    def drop(self):
        if self.engine is not None:
            self.place = self.engine.folder
        super().drop()

    def choice(self, number):
        """(name, mode) of a case."""
        name, turn = self.names[number % len(self.names)], number // len(self.names)
        return name, MODES[(number % len(self.names) + turn + self.args.seed) % 2]

    def label(self, number):
        return "(%s, %s)" % self.choice(number)

    def make(self, number):
        name, mode = self.choice(number)
        rng = random.Random(f"{self.args.seed}:{number}")
        properties = {f"write.{what}.mode": mode for what in ("merge", "update", "delete")}
        foreign = Foreign(self.folder, name)
        if foreign.table["format_version"] == 1 and mode == "merge-on-read":
            properties = {"format-version": "2", **properties}
        foreign.properties = properties
        table = st.Table()
        foreign.shape(table)
        rows = foreign.recorded(table)
        if rows is None:  # many rows: the first five
            rows = foreign.first(table)
        return generate.foreign_case(rng, foreign, rows[:200], 2 if (foreign.table.get("current") or {}).get("rows", 0) > 2000 else 4)

    def case(self, number):
        problem = super().case(number)
        name, mode = self.choice(number)
        if problem is None and self.args.keep:
            self.left.append({"upgraded": mode == "merge-on-read" and Foreign(self.folder, name).table["format_version"] == 1,
                              "db": os.path.join(self.engine.folder if self.engine else self.place, "catalog.db"), "table": f"t{number}", "name": name,
                              "equality_deletes": self.check.table.has_equality_deletes})
        if problem and unsupported(problem) and "UNSUPPORTED" in problem.splitlines()[0]:
            self.done["table that frazil does not read"] += 1
            return self.stays(name)
        return problem

    def stays(self, name):
        """A table in a format that is not supported: every change is refused and makes no snapshot."""
        engine = Engine(self.args)
        try:
            foreign = Foreign(self.folder, name)
            foreign.install(engine, "t")
            field = foreign.table["schema"]["fields"][0]["name"]
            for sql in (f"DELETE FROM t WHERE `{field}` IS NOT NULL AND 1 = rand()", f"UPDATE t SET `{field}` = `{field}`",
                        f"MERGE INTO t USING (SELECT * FROM t) s ON t.`{field}` = s.`{field}` WHEN MATCHED THEN UPDATE SET t.`{field}` = s.`{field}`"):
                try:
                    engine.ask(sql)
                    return f"{name}: {sql} did something to a table that cannot be read"
                except Refused as refused:
                    if refused.cls not in ("UNSUPPORTED", "TYPE"):
                        return f"{name}: {sql}: {refused}"
            ((n,),) = engine.ask("SELECT count(*) FROM db.t.snapshots")
            if int(n) != len(foreign.table["snapshots"]):
                return f"{name}: {n} snapshots after refused changes"
        except Broken as broken:
            return f"{name}: {broken}"
        finally:
            engine.close()
        return None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    ap.add_argument("--frazil", default=os.path.join(here, "..", "..", "build", "frazil"))
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--rounds", type=int, default=1)
    ap.add_argument("--case", type=int, help="only this case")
    ap.add_argument("--table", default="", help="only tables with this in their names")
    ap.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("--timeout", type=float, default=120)
    ap.add_argument("--shrink", type=float, default=30)
    ap.add_argument("--keep", metavar="FOLDER", help="leave the catalogs in the folder, and in kept.json what is in them (for run_interop.py)")
    ap.add_argument("--print", action="store_true", help="print the statements of the cases and stop")
    ap.add_argument("--max-failures", type=int, default=30)
    ap.add_argument("-v", action="store_true", help="seconds of each case")
    ap.add_argument("--work", help="scratch folder")
    args = ap.parse_args()
    args.frazil = os.path.abspath(args.frazil)
    args.spark = 0
    if args.keep:
        args.work = args.keep
    folder = data_folder()
    if folder is None:
        print("no ../shared/data/iceberg beside the source tree: tables of other writers are not changed")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    with open(os.path.join(folder, "tables.json"), encoding="utf-8") as f:
        names = [t["name"] for t in json.load(f) if "format_version" in t and t["name"] not in LEFT_OUT]
    names = [n for n in names if args.table in n and os.path.exists(os.path.join(folder, "expect", n, "table.json"))]
    if args.rounds == 1 and not args.table:
        names = [n for n in names if n not in LARGE]
    numbers = range(len(names) * args.rounds) if args.case is None else [args.case]
    if args.print:
        for number in numbers:
            print(script(TableWorker(args, folder, names).make(number)))
        return 0
    pending, lock, failures, passed = iter(numbers), threading.Lock(), [], [0]
    workers = [TableWorker(args, folder, names) for _ in range(max(1, min(args.jobs, len(numbers))))]

    def work(worker):
        while len(failures) < args.max_failures:
            with lock:
                number = next(pending, None)
            if number is None:
                break
            began = time.time()
            problem = worker.case(number)
            with lock:
                if args.v:
                    print(f"{time.time() - began:.1f} s {worker.label(number)}", file=sys.stderr, flush=True)
                if problem:
                    failures.append(problem)
                    print(problem, flush=True)
                else:
                    passed[0] += 1
        worker.drop()

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(work, workers))
    if args.keep:
        with open(os.path.join(args.keep, "kept.json"), "w", encoding="utf-8") as f:
            json.dump([x for w in workers for x in w.left], f)
    if args.v:
        print("statements:", ", ".join(f"{n} {k}" for k, n in sorted(sum((w.done for w in workers), collections.Counter()).items())))
        for text, n in sum((w.refused for w in workers), collections.Counter()).most_common(30):
            print(f"{n} x refused: {text}")
    print(f"{passed[0]} passed, {len(failures)} failed, 0 skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
