#!/usr/bin/env python3
"""Recorded Debezium streams to their final tables.

  run_converge.py [DIR] [CAPTURE...]

Every folder of DIR (default: this one) with a tables.json is a capture; README.md describes the files. For each, once copy-on-write and
once merge-on-read: writes a pipeline, runs `frazil run X.yaml --once` twice (the second run must commit nothing), and compares the tables
cell by cell with final/*.csv by the comparison rules of README.md. Ends with `N passed, N failed, N skipped`, counted in
(capture, mode) pairs; a capture without any table that can converge is skipped.
"""
import argparse
import collections
import concurrent.futures
import datetime
import decimal
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ("copy-on-write", "merge-on-read")
SQL_TYPE = {"long": "bigint", "timestamptz": "timestamp", "timestamp": "timestamp_ntz"}


class Failed(Exception):
    pass

# ---------------------------------------------------------------- CSV that tells NULL from the empty text

def read_csv(text):
    """Rows of (text or None); None is an empty field without quotes."""
    rows, row, i, n = [], [], 0, len(text)
    while i < n:
        if text[i] == '"':
            parts, i = [], i + 1
            while True:
                end = text.index('"', i)
                parts.append(text[i:end])
                i = end + 1
                if i < n and text[i] == '"':
                    parts.append('"')
                    i += 1
                else:
                    break
            row.append("".join(parts))
        else:
            end = i
            while end < n and text[end] not in ",\r\n":
                end += 1
            row.append(text[i:end] if end > i else None)
            i = end
        if i < n and text[i] == ",":
            i += 1
            if i == n or text[i] in "\r\n":
                row.append(None)
        if i >= n or text[i] in "\r\n":
            i += 2 if text[i:i + 2] == "\r\n" else 1
            rows.append(row)
            row = []
    return rows

# ---------------------------------------------------------------- cells as values that may be compared with ==

def micros(text):
    """Microseconds since 1970 in UTC; the offset at the end is optional. Years outside 1..9999 stay text."""
    m = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?", text)
    if not m:
        return text
    y, mo, d, h, mi, s, fraction, zone = m.groups()
    when = datetime.datetime(int(y), int(mo), int(d), int(h), int(mi), int(s or 0)) - datetime.datetime(1970, 1, 1)
    us = (when.days * 86400 + when.seconds) * 1000000 + int((fraction or "0").ljust(6, "0")[:6])
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60000000
        us += -offset if zone[0] == "+" else offset
    return us


def bits(text, width):
    value = float({"Infinity": "inf", "-Infinity": "-inf"}.get(text, text))
    return "nan" if value != value else struct.pack("<f" if width == 4 else "<d", value)


def value(text, column):
    """One cell, from either side, as its type sees it."""
    if text is None:
        return None
    kind = column["iceberg"]
    if kind in ("int", "long"):
        return int(text)
    if kind == "boolean":
        return {"t": True, "1": True, "true": True, "f": False, "0": False, "false": False}[text]
    if kind.startswith("decimal"):
        scale = int(kind.rstrip(")").split(",")[1])
        return decimal.Decimal(text.replace("$", "").replace(",", "")).quantize(decimal.Decimal(1).scaleb(-scale))
    if kind in ("double", "float"):
        return bits(text, 8 if kind == "double" else 4)
    if kind in ("timestamp", "timestamptz"):
        return micros(text)
    if kind == "binary":
        return text[2:].lower() if text.startswith("\\x") else text.lower()
    if kind == "string" and re.match(r"numeric|decimal|bigint|money", column["sql"]):
        try:
            return decimal.Decimal({"NAN": "NaN", "POSITIVE_INFINITY": "Infinity", "NEGATIVE_INFINITY": "-Infinity"}.get(text, text)).normalize()
        except decimal.InvalidOperation:
            return text
    return text


def exempt(table, column, key):
    """May this cell of this row differ? `rows` is `all` or `COLUMN in LIST` with numbers and ranges of the key."""
    for e in table.get("exempt", []):
        if e.get("column") != column:
            continue
        if e["rows"] == "all":
            return True
        name, _, items = e["rows"].partition(" in ")
        for item in items.split(","):
            low, _, high = item.strip().partition("..")
            at = key.get(name.strip())
            if at is not None and (at == low or (high and low.lstrip("-").isdigit() and int(low) <= int(at) <= int(high))):
                return True
    return False


def compare(table, expected, got):
    """Problems, at most ten of them."""
    columns = table["columns"]
    names = [c["name"] for c in columns]
    problems = []
    if expected[0] != names or got[0] != names:
        return [f"columns: declared {names}, final {expected[0]}, table {got[0]}"]
    if not table["key"]:
        rows = [collections.Counter(tuple(str(value(x, c)) for x, c in zip(r, columns)) for r in side[1:]) for side in (expected, got)]
        for what, counter in (("missing", rows[0] - rows[1]), ("too many", rows[1] - rows[0])):
            problems += [f"{what}: {row} × {n}" for row, n in counter.items()]
        return problems[:10]
    at = [names.index(k) for k in table["key"]]
    sides = []
    for side in (expected, got):
        rows = {}
        for r in side[1:]:
            key = tuple(str(value(r[i], columns[i])) for i in at)
            if key in rows:
                problems.append(f"key {key} stands there twice")
            rows[key] = r
        sides.append(rows)
    problems += [f"row {k} is missing" for k in sides[0] if k not in sides[1]]
    problems += [f"row {k} should not be there" for k in sides[1] if k not in sides[0]]
    for key, want in sides[0].items():
        have = sides[1].get(key)
        for i, c in enumerate(columns):
            if have is None or value(want[i], c) == value(have[i], c) or exempt(table, c["name"], {k: want[j] for k, j in zip(table["key"], at)}):
                continue
            problems.append(f"row {key}, {c['name']}: expected {want[i]!r}, got {have[i]!r}")
    return problems[:10] + ([f"… {len(problems) - 10} more"] if len(problems) > 10 else [])

# ---------------------------------------------------------------- running

def pipeline_text(capture, spec, events, tables, mode):
    lines = [f"pipeline: {capture}", "catalog: ice", "source:", "  file:", f"    path: {json.dumps(events)}", "    records: kafka",
             f"    format: {spec['format']}", "tables:"]
    for topic, table in tables.items():
        lines += [f"  {json.dumps(topic.partition('.')[2])}:", f"    into: ice.db.{table['table']}", f"    mode: {mode}", "    columns:"]
        for c in table["columns"]:
            kind = SQL_TYPE.get(c["iceberg"], c["iceberg"])
            lines.append(f"      {json.dumps(c['name'])}: {{type: {json.dumps(kind)}}}")
    return "\n".join(lines + ["commit: {every: 10s, or_rows: 5000}", ""])


class Frazil:
    def __init__(self, program, folder, timeout):
        self.program, self.folder, self.timeout = program, folder, timeout
        conf = os.path.join(folder, "frazil.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write("spark.sql.catalog.ice org.apache.iceberg.spark.SparkCatalog\nspark.sql.catalog.ice.type jdbc\n"
                    f"spark.sql.catalog.ice.uri jdbc:sqlite:{folder}/catalog.db\nspark.sql.catalog.ice.warehouse {folder}/warehouse\n"
                    "spark.sql.defaultCatalog ice\nspark.sql.session.timeZone UTC\n")
        self.env = dict(os.environ, FRAZIL_CONF=conf, TZ="UTC")

    def run(self, *args):
        try:
            done = subprocess.run([self.program, *args], cwd=self.folder, env=self.env, capture_output=True, text=True, encoding="utf-8",
                                  timeout=self.timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f"frazil {args[0]} did not end within {self.timeout} s")
        if done.returncode != 0:
            raise Failed(f"frazil {' '.join(args)[:120]}: status {done.returncode}\n{(done.stdout + done.stderr)[-1500:]}")
        return done.stdout

    def csv(self, sql):
        return read_csv(self.run("sql", "-S", "--format", "csv", "-e", sql))

    def snapshots(self, tables):
        return {t["table"]: sorted(r[0] for r in self.csv(f"SELECT snapshot_id FROM ice.db.{t['table']}.snapshots")[1:]) for t in tables}


def converge(args, capture, spec, tables, mode):
    """Problems of one capture and mode."""
    source = os.path.join(args.dir, capture)
    events = next((os.path.join(source, n) for n in ("events.jsonl.gz", "events.jsonl") if os.path.exists(os.path.join(source, n))), None)
    folder = tempfile.mkdtemp(prefix="converge_", dir=args.work)
    problems = []
    try:
        if events is None:
            raise Failed("no events file")
        frazil = Frazil(args.frazil, folder, args.timeout)
        frazil.run("sql", "-S", "-e", "CREATE NAMESPACE IF NOT EXISTS ice.db")
        pipeline = os.path.join(folder, capture + ".yaml")
        with open(pipeline, "w", encoding="utf-8") as f:
            f.write(pipeline_text(capture, spec, events, tables, mode))
        frazil.run("run", pipeline, "--once")
        before = frazil.snapshots(tables.values())
        frazil.run("run", pipeline, "--once")
        after = frazil.snapshots(tables.values())
        if before != after:
            problems.append(f"the second run committed: {before} became {after}")
        for table in tables.values():
            names = ", ".join("`" + c["name"] + "`" for c in table["columns"])
            got = frazil.csv(f"SELECT {names} FROM ice.db.{table['table']}")
            with open(os.path.join(source, "final", table["table"] + ".csv"), encoding="utf-8", newline="") as f:
                expected = read_csv(f.read())
            problems += [f"{table['table']}: {p}" for p in compare(table, expected, got)]
    except (Failed, OSError, ValueError, KeyError) as error:
        problems.append(f"{type(error).__name__ + ': ' if not isinstance(error, Failed) else ''}{error}")
    finally:
        if args.keep and problems:
            problems.append(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return problems


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("dir", nargs="?", default=HERE)
    ap.add_argument("captures", nargs="*", help="only these folders")
    ap.add_argument("--frazil", default=os.path.join(HERE, "..", "..", "build", "frazil"), help="the program")
    ap.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("--timeout", type=float, default=300, help="seconds for one run of the program")
    ap.add_argument("--work", help="scratch folder")
    ap.add_argument("--keep", action="store_true", help="keep the folders of runs that failed")
    args = ap.parse_args()
    args.dir, args.frazil = os.path.abspath(args.dir), os.path.abspath(args.frazil)
    if not os.access(args.frazil, os.X_OK):
        sys.exit(f"{args.frazil}: no such program; build it first or pass --frazil")
    count = {"passed": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(max(args.jobs, 1)) as pool:
        pending = {}
        for capture in args.captures or sorted(os.listdir(args.dir)):
            path = os.path.join(args.dir, capture, "tables.json")
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as f:
                spec = json.load(f)
            tables = {topic: t for topic, t in spec["tables"].items() if not t.get("cannot_converge")}
            for mode in MODES:
                if tables:
                    pending[pool.submit(converge, args, capture, spec, tables, mode)] = (capture, mode)
                else:
                    count["skipped"] += 1
        for done in concurrent.futures.as_completed(pending):
            capture, mode = pending[done]
            problems = done.result()
            count["failed" if problems else "passed"] += 1
            for problem in problems:
                print(f"{capture} {mode}: {problem}", flush=True)
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
