#!/usr/bin/env python3
"""Run conformance files on frazil.

  run_frazil.py [--list FILE] [--jobs N] [PATH...]

PATH is a .test file or a folder; without PATH and --list: everything next to this script. A list names files relative to this script.
Every (file, tuple of its matrix) gets a folder, a catalog and a process of its own: `frazil sql --protocol=test` reads one
{"sql": …} a line and answers one line each. Prints each record that differs and `N passed, N failed, N skipped`, counted in such tuples.
The exit status is 1 when anything failed. Format of the files: README.md.
"""
import argparse
import concurrent.futures
import difflib
import getpass
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from error_class import error_class  # noqa: E402
from run_spark import SUMMARY_GROUPS, matrix_of, parse_file  # noqa: E402

ENGINE = "frazil"


class Broken(Exception):
    """The process died, hung or spoke out of turn: the rest of the file cannot run."""


class Refused(Exception):
    """A statement failed, as the protocol says it."""

    def __init__(self, answer):
        self.code = answer.get("code", "?")
        self.condition = answer.get("condition") or ""
        self.cls = error_class(self.code, self.condition)
        super().__init__(answer.get("message", ""))

    def __str__(self):
        text = super().__str__()
        return f"{self.cls} ({self.code}{' ' + self.condition if self.condition else ''}) {text}"


class Frazil:
    """One process, spoken to line by line."""

    def __init__(self, program, folder, conf, timeout):
        self.timeout = timeout
        self.log = open(os.path.join(folder, "stderr.log"), "w+b")
        command = [program, "sql", "--protocol=test"]
        for key, value in conf.items():
            command += ["--conf", f"{key}={value}"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, cwd=folder,
                                        env=dict(os.environ, TZ="UTC"))
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def ask(self, sql):
        """Columns and rows, or Refused."""
        try:
            self.process.stdin.write(json.dumps({"sql": sql}).encode() + b"\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=self.timeout)
        except queue.Empty:
            raise Broken(f"no answer within {self.timeout} s")
        except OSError:
            line = None
        if line is None:
            raise Broken(f"the process ended with status {self.process.wait()}: {self.last_words()}")
        try:
            answer = json.loads(line)
        except ValueError:
            raise Broken(f"not a line of the protocol: {line[:300]!r}")
        if not answer.get("ok"):
            raise Refused(answer)
        return answer.get("columns") or [], answer.get("rows") or []

    def last_words(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read()[-1500:].decode(errors="replace").strip()

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            status = self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "killed: it did not end after its input did"
        self.reader.join(timeout=5)
        self.process.stdout.close()
        words = self.last_words() if status != 0 else ""
        self.log.close()
        return status, words


def render(cell):
    """A cell of the protocol, which is rendered already, with the escapes of a result line."""
    if cell is None:
        return "NULL"
    if cell == "":
        return "(empty)"
    if cell in ("NULL", "(empty)"):
        return "\\" + cell
    for plain, escaped in (("\\", "\\\\"), ("|", "\\p"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        cell = cell.replace(plain, escaped)
    return cell


class Run:
    """One file with one binding of its matrix variables."""

    def __init__(self, args, binding, folder):
        self.vars, self.ids = dict(binding), []
        self.warehouse = os.path.join(folder, "warehouse")
        os.makedirs(self.warehouse)
        self.vars["warehouse"] = self.warehouse
        self.user = getpass.getuser()
        conf = {
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "jdbc",
            "spark.sql.catalog.ice.uri": f"jdbc:sqlite:{folder}/catalog.db",
            "spark.sql.catalog.ice.warehouse": self.warehouse,
            "spark.sql.defaultCatalog": "ice",
            "spark.sql.session.timeZone": "UTC",
        }
        for item in args.conf:
            key, _, value = item.partition("=")
            conf[key] = value.replace("{dir}", folder)
        self.engine = Frazil(args.frazil, folder, conf, args.timeout)
        self.engine.ask("CREATE NAMESPACE IF NOT EXISTS ice.db")
        self.engine.ask("USE ice.db")

    def ask(self, sql):
        time.sleep(0.002)  # commit times must differ
        return self.engine.ask(re.sub(r"\$\{(\w+)\}", lambda m: self.vars.get(m.group(1), m.group(0)), sql))

    def hide(self, cell):
        for name in self.ids:
            value = self.vars[name]
            if cell == value:
                return "${" + name + "}"
            if len(value) >= 15 and value.isdigit():
                cell = cell.replace(value, "${" + name + "}")
        if cell == self.user:
            return "${user}"
        for prefix in ("file://", "file:", ""):
            cell = cell.replace(prefix + self.warehouse, "${warehouse}")
        return cell

    def wanted(self, record):
        for kind, text in record.conds:
            name, is_variable, value = text.partition("=")
            hit = self.vars.get(name) == value if is_variable else text == ENGINE
            if hit == (kind == "skipif"):
                return False
        return True

    def query(self, record, sort, flags):
        columns, rows = self.ask(record.sql)
        lines = ["|".join(self.hide(render(c)) for c in row) for row in rows]
        if sort == "rowsort":
            lines.sort(key=lambda s: s.encode())
        head = [["|".join(c["name"] for c in columns)]] if "header" in flags else []
        head += [["|".join(c["type"] for c in columns)]] if "types" in flags else []
        return [line for lines_ in head for line in lines_] + lines

    def summary(self, record, table, options):
        branch = next((o[7:] for o in options if o.startswith("branch=")), "main")
        table = table if "." in table else "db." + table
        _, rows = self.ask(f"SELECT s.summary, s.operation FROM {table}.snapshots s JOIN {table}.refs r "
                           f"ON s.snapshot_id = r.snapshot_id WHERE r.name = '{branch}'")
        have = dict(json.loads(rows[0][0]), operation=rows[0][1]) if rows else {}
        keys = []
        for line in record.body:
            key = line.split(" ")[0]
            keys += SUMMARY_GROUPS.get(key, [key])
        return [f"{k} {self.hide(have[k])}" if k in have else f"{k} -" for k in keys]

    def step(self, record):
        """Runs one record; None when it went as the file says, else what differs."""
        word, *rest = record.directive.split()
        if word == "sleep":
            time.sleep(int(rest[0]) / 1000)
        elif word == "set":
            key, _, value = record.directive[4:].partition("=")
            self.ask(f"SET {key.strip()}={value.strip()}")
        elif word == "reset":
            self.ask(f"RESET {rest[0]}")
        elif word == "let":
            _, rows = self.ask(record.sql)
            if not rows:
                raise Broken(f"let {rest[0]}: the query gave no row")
            self.vars[rest[0]] = render(rows[0][0])
            if len(self.vars[rest[0]]) >= 10:
                self.ids.append(rest[0])
        elif word == "summary":
            return differ(record.body, self.summary(record, rest[0], rest[1:]))
        elif word == "query":
            return differ(record.expect or [], self.query(record, rest[0], rest[1:]))
        elif word == "statement":
            return self.statement(record, rest)
        elif word != "matrix":
            return f"unknown directive: {record.directive}"
        return None

    def statement(self, record, rest):
        try:
            self.ask(record.sql)
        except Refused as refused:
            if rest[0] == "error" and refused.cls == rest[1]:
                return None
            return f"wanted {' '.join(rest)}, got {refused}"
        return None if rest[0] == "ok" else f"wanted {' '.join(rest)} {' '.join(record.notes)}, but it succeeded"


def differ(expected, got, limit=24):
    if expected == got:
        return None
    lines = [x for x in difflib.ndiff(expected, got) if not x.startswith("? ")]
    cut = lines[:limit] + ([f"… {len(lines) - limit} more lines"] if len(lines) > limit else [])
    return "differs (- expected, + got)\n" + "\n".join(f"      {x}" for x in cut)


def run_tuple(args, path, records, binding):
    """(status, problems, seconds) of one file and tuple."""
    started, problems, ran = time.time(), [], 0
    name = os.path.relpath(path, HERE)
    tag = "".join(f"[{k}={v}]" for k, v in binding.items())
    folder = tempfile.mkdtemp(prefix="conformance_", dir=args.work)
    run = None
    try:
        run = Run(args, binding, folder)
        for record in records:
            if record.directive is None or not run.wanted(record):
                continue
            ran += record.directive.split()[0] in ("statement", "query", "let", "summary")
            try:
                problem = run.step(record)
            except Refused as refused:
                problem = f"failed: {refused}"
                if record.directive.startswith("let"):
                    problem += "\n      the rest of the file needs this value"
            if problem:
                sql = " ".join(record.sql.split())
                problems.append(f"{name}:{record.line}{tag}: {record.directive}: {problem}\n      {sql[:200]}")
                if problem.endswith("needs this value"):
                    break
    except (Broken, Refused, OSError) as error:
        where = f":{record.line}" if run is not None and ran else ""
        problems.append(f"{name}{where}{tag}: {error}")
    finally:
        if run is not None:
            status, words = run.engine.close()
            if status != 0 and not problems:
                problems.append(f"{name}{tag}: the process ended with status {status}: {words}")
        if args.keep_all:  # for test/interop, which lets other engines read the tables
            with open(os.path.join(folder, "name"), "w", encoding="utf-8") as f:
                f.write(name + tag)
        elif not (args.keep and problems):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            problems.append(f"{name}{tag}: kept {folder}")
    return ("failed" if problems else "passed" if ran else "skipped"), problems, time.time() - started


def files_of(args):
    if args.list:
        with open(args.list, encoding="utf-8") as f:
            return [os.path.join(HERE, x) for x in (line.strip() for line in f) if x and not x.startswith("#")]
    found = []
    for path in args.paths or [HERE]:
        if not os.path.isdir(path):
            found.append(os.path.abspath(path))
            continue
        for folder, _, names in sorted(os.walk(os.path.abspath(path))):
            found += [os.path.join(folder, n) for n in sorted(names) if n.endswith(".test")]
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("paths", nargs="*")
    ap.add_argument("--list", help="a file with the names of the files to run")
    ap.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("--frazil", default=os.path.join(HERE, "..", "..", "build", "frazil"), help="the program")
    ap.add_argument("--conf", action="append", default=[], help="a setting key=value for every run; {dir} is the run's folder")
    ap.add_argument("--timeout", type=float, default=120, help="seconds for one statement")
    ap.add_argument("--work", help="scratch folder")
    ap.add_argument("--keep", action="store_true", help="keep the folders of runs that failed")
    ap.add_argument("--keep-all", action="store_true", help="keep the folders of all runs, each with a file `name`")
    ap.add_argument("-v", action="store_true", help="a line per tuple")
    args = ap.parse_args()
    args.frazil = os.path.abspath(args.frazil)
    if not os.access(args.frazil, os.X_OK):
        sys.exit(f"{args.frazil}: no such program; build it first or pass --frazil")
    jobs = []
    for path in files_of(args):
        records = parse_file(path)
        jobs += [(path, records, binding) for binding in matrix_of(records)]
    count = {"passed": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(max(args.jobs, 1)) as pool:
        pending = {pool.submit(run_tuple, args, *job): job for job in jobs}
        for done in concurrent.futures.as_completed(pending):
            path, _, binding = pending[done]
            status, problems, seconds = done.result()
            count[status] += 1
            if args.v:
                print(f"{status} {os.path.relpath(path, HERE)} {binding or ''} {seconds:.2f} s", flush=True)
            for problem in problems:
                print(problem, flush=True)
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
