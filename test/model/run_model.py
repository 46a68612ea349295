#!/usr/bin/env python3
"""Random tables and statements on frazil, against a naive in-memory model of what Spark does.

usage: run_model.py [--frazil PROGRAM] [--seed N] [--count N] [--jobs N] [--spark K] [--case N]

A case is a table and 5 to 10 statements on it. After each statement the whole content is compared (or the class of the error), the counters
of MERGE in the snapshot summary, row lineage on version 3, and the files: record counts, bounds, delete files. The first difference ends a
case; it is then made as small as it gets and printed as SQL. `--spark K`: at the end real Spark reads K of the tables (PY_SPARK's python,
CONFORMANCE_JARS). Same seed and case number, same statements.
"""
import argparse
import collections
import concurrent.futures
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "conformance"))
import generate  # noqa: E402
import statements as st  # noqa: E402
from equality_deletes import EqualityDelete, OldManifests  # noqa: E402
from expressions import quoted  # noqa: E402
from foreign import Foreign, rows_of_cells  # noqa: E402
from run_frazil import Broken, Frazil, Refused  # noqa: E402
from values import cell, is_nested, order_key, parse_cell  # noqa: E402


class Difference(Exception):
    pass


class Over(Exception):
    """The case ends here without a difference: what the engine holds now is not known."""


def conf_of(folder):
    return {
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "jdbc",
        "spark.sql.catalog.ice.uri": f"jdbc:sqlite:{folder}/catalog.db",
        "spark.sql.catalog.ice.warehouse": os.path.join(folder, "warehouse"),
        "spark.sql.defaultCatalog": "ice",
        "spark.sql.session.timeZone": "UTC",
    }


class Engine:
    """A process with a catalog of its own."""

    def __init__(self, args, folder=None):
        self.folder = folder or tempfile.mkdtemp(prefix="model_", dir=args.work)
        os.makedirs(os.path.join(self.folder, "warehouse"), exist_ok=True)
        self.frazil = Frazil(args.frazil, self.folder, conf_of(self.folder), args.timeout)
        self.ask("CREATE NAMESPACE IF NOT EXISTS ice.db")
        self.ask("USE ice.db")

    def ask(self, sql):
        return self.frazil.ask(sql)[1]

    def close(self, keep=False):
        status, words = self.frazil.close()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        return status, words


def text_row(table, row):
    return tuple(cell(row.values.get(f.id), f.type) for f in table.fields)


def multiset_difference(expected, got, limit=6):
    missing, extra = expected - got, got - expected
    show = lambda name, c: [f"  {name} {n} x {row}" for row, n in list(c.items())[:limit]]
    return "\n".join([f"content differs: {sum(missing.values())} rows missing, {sum(extra.values())} rows too many"] + show("missing", missing) + show("too many", extra))


class Check:
    """The state of one case on an engine: runs statements and compares."""

    def __init__(self, engine, name):
        self.engine, self.name, self.table, self.refused = engine, name, st.Table(), collections.Counter()
        self.all_ids, self.branches_there, self.foreign_rows = set(), {None}, None
        self.is_over, self.done = False, collections.Counter()

    def run(self, statement):
        if statement.is_setup:
            return self.run_setup(statement)
        if isinstance(statement, EqualityDelete):
            return self.run_equality_delete(statement)
        if isinstance(statement, OldManifests):
            self.table.switch(None)
            statement.apply(self.table, os.path.join(self.engine.folder, "catalog.db"), self.name)
            return self.compare(self.table.rows, failed=True)
        if not self.at_branch(statement):
            return
        outcome = statement.run(self.evolved(statement))
        *setup, sql = statement.sql(self.name)
        for text in setup:
            self.engine.ask(text)
        settings = self.settings(statement)
        try:
            for key, value in settings.items():
                self.engine.ask(f"SET {key}={value}")
            self.engine.ask(sql)
        except Refused as refused:
            if refused.cls not in outcome.errors:
                raise Difference(f"wanted {sorted(outcome.errors) or 'success'}, got {refused}")
            if getattr(getattr(statement, "source", None), "evolves", False):
                raise Over()  # the schema may have changed before
            if statement.wap and statement.branch not in self.branches_there:
                self.table.switch(None)
                self.table.branches.pop(statement.branch, None)
            self.done["refused " + type(statement).__name__] += 1
            self.compare(self.table.rows, failed=True)
            return
        finally:
            for key in settings:
                self.engine.ask(f"RESET {key}")
        if outcome.errors:
            raise Difference(f"wanted an error of {sorted(outcome.errors)}, but it succeeded")
        self.done[type(statement).__name__] += 1
        self.branches_there.add(statement.branch)
        before = self.table
        self.table = self.evolved(statement)
        self.table.snapshots += 1
        self.table.sequence += before.version > 1
        self.table.commits += self.table.at is None
        self.compare(outcome.rows)
        self.check_summary(outcome, before)
        if self.table.at is None:
            self.check_files()
        else:
            self.table.switch(None)
            self.compare(self.table.rows, failed=True)

    def evolved(self, statement):
        """A copy of the table with what the statement does to its schema."""
        after = self.table.copy()
        statement.shape(after)
        return after

    def at_branch(self, statement):
        """Makes the branch of the statement the current one; False where it cannot be."""
        table = self.table
        if statement.branch is not None:
            if table.snapshots == 0:
                return False
            if statement.wap and table.properties.get("write.wap.enabled") != "true":
                self.engine.ask(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('write.wap.enabled'='true')")
                table.properties["write.wap.enabled"] = "true"
            if not statement.wap and statement.branch not in self.branches_there:
                self.engine.ask(f"ALTER TABLE {self.name} CREATE BRANCH {statement.branch}")
                self.branches_there.add(statement.branch)
        table.switch(statement.branch)
        return True

    def settings(self, statement):
        out = {}
        if statement.wap:
            out["spark.wap.branch"] = statement.branch
        if getattr(statement, "dynamic", False):
            out["spark.sql.sources.partitionOverwriteMode"] = "dynamic"
        return out

    def run_equality_delete(self, statement):
        self.table.switch(None)
        rows = statement.apply(self.table, os.path.join(self.engine.folder, "catalog.db"), self.name)
        if rows is None:
            return
        self.table = self.table.copy()
        self.table.snapshots += 1
        self.table.sequence += 1
        self.table.commits += 1
        self.table.has_equality_deletes = True
        self.done["EqualityDelete"] += 1
        self.compare(rows)

    def run_setup(self, statement):
        self.table.switch(None)
        after = self.table.copy()
        try:
            statement.shape(after)
        except KeyError:
            if isinstance(statement, st.FastForward):
                return  # the branches have gone apart
            raise
        if isinstance(statement, Foreign):
            statement.install(self.engine, self.name)
            self.table, self.foreign_rows = after, (statement.table.get("current") or {}).get("rows", 0)
            return self.begin_with(statement.recorded(after))
        try:
            for text in statement.sql(self.name):
                self.engine.ask(text)
        except Refused as refused:
            self.refused[f"{refused.cls} {refused.condition}: {statement.sql('t')[0][:60]} … {str(refused)[:160]}"] += 1
            if isinstance(statement, (st.Create, st.FastForward)):
                raise Difference(f"wanted success, got {refused}")
            raise Over()  # the statements behind it count on the change
        self.table = after
        if not isinstance(statement, st.Create) and self.table.rows:
            self.compare(self.table.rows, failed=True)

    def begin_with(self, rows):
        """A table of another writer must read as it was recorded; columns of types that the model does not know are taken as they come."""
        table, n = self.table, len(self.table.fields)
        actual = [tuple(r[:n]) for r in self.read()]
        if rows is None:
            rows = rows_of_cells(table, actual)
            if len(rows) != self.foreign_rows:
                raise Difference(f"{len(rows)} rows, {self.foreign_rows} were recorded")
        opaque = [i for i, f in enumerate(table.fields) if f.type[0] == "opaque"]
        known = lambda cells: tuple(c for i, c in enumerate(cells) if i not in opaque)
        wanted, got = collections.Counter(known(text_row(table, r)) for r in rows), collections.Counter(known(a) for a in actual)
        if wanted != got:
            raise Difference("as registered, " + multiset_difference(wanted, got))
        by_known = {known(text_row(table, r)): r for r in rows}
        table.rows = []
        for a in actual:
            values = dict(by_known[known(a)].values)
            values.update((table.fields[i].id, a[i]) for i in opaque)
            table.rows.append(st.Row(values))
        self.compare(table.rows, failed=True)

    def read(self):
        columns = [quoted(f.name) for f in self.table.fields] + ["_file", "_pos"]
        if self.table.version >= 3:
            columns += ["_row_id", "_last_updated_sequence_number"]
        where = f"ice.db.{self.name}.branch_{self.table.at}" if self.table.at else self.name
        return self.engine.ask(f"SELECT {', '.join(columns)} FROM {where}")

    def compare(self, rows, failed=False):
        """The whole content; then the rows of the model learn where they are."""
        table, n = self.table, len(self.table.fields)
        expected = collections.defaultdict(list)
        for row in rows:
            expected[text_row(table, row)].append(row)
        actual = [(tuple(r[:n]), r) for r in self.read()]
        counted, wanted = collections.Counter(a for a, _ in actual), collections.Counter({k: len(v) for k, v in expected.items()})
        if counted != wanted:
            raise Difference((f"branch {table.at}: " if table.at else "") + multiset_difference(wanted, counted))
        if len({(r[n], r[n + 1]) for _, r in actual}) != len(actual):
            raise Difference("two rows have the same _file and _pos")
        lineage = table.version >= 3
        if lineage and table.ids_known:
            self.check_lineage(expected, actual, failed)
        ids = [r[n + 2] for _, r in actual] if lineage else []
        if lineage and not failed:
            if None in ids or len(set(ids)) != len(ids):
                raise Difference(f"_row_id is NULL or not unique: {ids[:30]}")
            table.ids_known = True
        self.all_ids.update(int(i) for i in ids if i is not None)
        table.rows = [st.Row({f.id: v.values.get(f.id) for f in table.fields}, r[n], r[n + 2] if lineage else None, r[n + 3] if lineage else None)
                      for a, r in actual for v in [expected[a][0]]]

    def check_lineage(self, expected, actual, failed):
        n = len(self.table.fields)
        old, fresh = {}, collections.Counter()
        for key, rows in expected.items():
            for row in rows:
                if row.row_id is None:
                    fresh[key] += 1
                else:
                    old[row.row_id] = (key, row)
        for key, r in actual:
            row_id, seq = r[n + 2], r[n + 3]
            if row_id in old:
                wanted_key, row = old.pop(row_id)
                if wanted_key != key:
                    raise Difference(f"_row_id {row_id} went from the row {wanted_key} to the row {key}")
                wanted_seq = str(self.table.sequence) if row.state == "updated" else row.seq
            else:
                if fresh[key] == 0:
                    raise Difference(f"the row {key} ({'updated or kept'}) has a new _row_id {row_id}")
                fresh[key] -= 1
                if row_id is None or int(row_id) in self.all_ids:
                    raise Difference(f"the inserted row {key} has the _row_id {row_id}, which is not fresh")
                wanted_seq = str(self.table.sequence)
            if seq != wanted_seq:
                raise Difference(f"_last_updated_sequence_number of {key} is {seq}, wanted {wanted_seq}")
        if old:
            raise Difference(f"lost _row_id {list(old)[:5]}: {next(iter(old.values()))[0]}")

    def check_summary(self, outcome, before):
        rows = self.engine.ask(f"SELECT s.operation, s.summary FROM db.{self.name}.snapshots s JOIN db.{self.name}.refs r ON s.snapshot_id = r.snapshot_id "
                               f"WHERE r.name = '{self.table.at or 'main'}'")
        (count,), = self.engine.ask(f"SELECT count(*) FROM db.{self.name}.snapshots")
        if int(count) != self.table.snapshots:
            raise Difference(f"{count} snapshots, wanted {self.table.snapshots}")
        self.summary = json.loads(rows[0][1])
        if outcome.counters is None:
            return
        have = {k: self.summary.get(f"spark.merge-into.num-target-rows-{k}") for k in list(outcome.counters) + ["copied"]}
        wanted = {k: str(v) for k, v in outcome.counters.items()}
        copied = have.pop("copied")
        if copied is None and set(have.values()) == {None} and (outcome.is_append or not before.rows):
            return  # Spark plans a MERGE without MATCHED clauses as an append, which has no counters
        if outcome.is_append:
            raise Difference(f"an insert-only MERGE has the counters {have}")
        if have != wanted:
            raise Difference(f"counters of MERGE: {({k: (v, have[k]) for k, v in wanted.items() if have[k] != v})} (wanted, got)")
        if copied is None or int(copied) not in outcome.copied:
            raise Difference(f"num-target-rows-copied is {copied}, wanted one of {outcome.copied}")

    def check_files(self):
        table = self.table
        columns = [f for f in table.fields if not is_nested(f.type) and f.type[0] != "opaque"]
        extra = "".join(f", readable_metrics.{quoted(f.name)}.lower_bound, readable_metrics.{quoted(f.name)}.upper_bound" for f in columns)
        rows = self.engine.ask(f"SELECT content, file_path, record_count, file_format{extra} FROM db.{self.name}.files")
        data = {r[1]: r for r in rows if r[0] == "0"}
        deletes, by_value = [r for r in rows if r[0] == "1"], [r for r in rows if r[0] == "2"]
        summed = {"total-data-files": len(data), "total-delete-files": len(deletes) + len(by_value), "total-records": sum(int(r[2]) for r in data.values()),
                  "total-position-deletes": sum(int(r[2]) for r in deletes), "total-equality-deletes": sum(int(r[2]) for r in by_value)}
        for key, value in summed.items():
            if self.summary.get(key) != str(value) and not table.foreign:
                raise Difference(f"summary {key} is {self.summary.get(key)}, the files say {value}")
        live = collections.defaultdict(list)
        for row in table.rows:
            live[row.file].append(row)
        for path, r in data.items():
            if int(r[2]) <= 0 or int(r[2]) < len(live[path]):
                raise Difference(f"record_count {r[2]} of a data file with {len(live[path])} visible rows")
            for i, f in enumerate(columns):
                low, high = (None if x is None else parse_cell(x, f.type) for x in r[4 + 2 * i:6 + 2 * i])
                for row in live[path]:
                    v = row.values.get(f.id)
                    if v is None or v != v:
                        continue
                    if low is not None and order_key(low) > order_key(v) or high is not None and order_key(high) < order_key(v):
                        raise Difference(f"column {f.name}: the value {v!r} lies outside the bounds {low} … {high} of its file")
        missing = set(live) - set(data)
        if missing:
            raise Difference(f"rows in files that the table does not have: {missing}")
        total, deleted = summed["total-records"], summed["total-position-deletes"]
        only_vectors = all(r[3].upper() == "PUFFIN" for r in deletes)
        if not by_value and (total - deleted > len(table.rows) or only_vectors and total - deleted != len(table.rows)):
            raise Difference(f"{total} records and {deleted} deletes make {len(table.rows)} rows")


def run_case(engine, name, case):
    """(Difference or None, number of the statement, refused ALTERs)."""
    check = Check(engine, name)
    for i, statement in enumerate(case):
        try:
            check.run(statement)
        except Difference as difference:
            return str(difference), i, check
        except Over:
            check.is_over = True
            return None, i, check
        except Refused as refused:
            return f"failed: {refused}", i, check
    return None, len(case), check


def smaller_rows(rows):
    size = len(rows) // 2
    while size > 0:
        for i in range(0, len(rows), size):
            yield rows[:i] + rows[i + size:]
        size //= 4
    if len(rows) == 1:
        yield []


def vary(thing, **what):
    out = copy.copy(thing)
    for key, value in what.items():
        setattr(out, key, value)
    return out


def smaller_statement(s):
    """Variants of a statement with less in it."""
    if getattr(s, "branch", None) and not isinstance(s, st.FastForward):
        yield vary(s, branch=None, wap=False)
    if isinstance(s, st.Insert) and isinstance(s.source, st.Bulk):
        b = s.source
        for n in (b.n // 4, b.n // 2, b.n * 3 // 4, b.n - 1):
            if n > 0:
                yield vary(s, source=vary(b, n=n))
        for pool in smaller_rows(b.pool):
            if pool:
                yield vary(s, source=vary(b, pool=pool))
        if b.step > 1:
            yield vary(s, source=vary(b, step=1))
    elif isinstance(s, (st.Insert, st.Merge)) and not isinstance(s.source, st.SelfSource):
        for rows in smaller_rows(s.source.rows):
            yield vary(s, source=vary(s.source, rows=rows))
        if s.source.as_table:
            yield vary(s, source=vary(s.source, as_table=False))
    if isinstance(s, EqualityDelete):
        for picks in smaller_rows(s.picks):
            if picks:
                yield vary(s, picks=picks)
        if len(s.names) > 1:
            yield vary(s, names=s.names[:1])
    if isinstance(s, st.Merge):
        for i in range(len(s.clauses)):
            around = s.clauses[:i], s.clauses[i + 1:]
            if len(s.clauses) > 1:
                yield vary(s, clauses=around[0] + around[1])
            c = s.clauses[i]
            if c.assignments and c.action == "update" and len(c.assignments) > 1:
                for k in range(len(c.assignments)):
                    less = st.Clause(c.kind, c.action, c.condition, c.assignments[:k] + c.assignments[k + 1:])
                    yield vary(s, clauses=around[0] + [less] + around[1])
            for condition in smaller_condition(c.condition):
                less = st.Clause(c.kind, c.action, condition, c.assignments)
                yield vary(s, clauses=around[0] + [less] + around[1])
        for on in smaller_condition(s.on):
            if on is not None:
                yield vary(s, on=on)
    if isinstance(s, st.Update):
        for k in range(len(s.assignments) if len(s.assignments) > 1 else 0):
            yield vary(s, assignments=s.assignments[:k] + s.assignments[k + 1:])
        for where in smaller_condition(s.where):
            yield vary(s, where=where)
    if isinstance(s, st.Delete):
        for where in smaller_condition(s.where):
            if where is not None:
                yield vary(s, where=where)
    if isinstance(s, st.Create):
        for key in s.properties:
            if key != "format-version":
                yield vary(s, properties={k: v for k, v in s.properties.items() if k != key})
        for i in range(len(s.spec)):
            yield vary(s, spec=s.spec[:i] + s.spec[i + 1:])
        for name in s.required:
            yield vary(s, required={n for n in s.required if n != name})


def smaller_condition(condition):
    if condition is None:
        return
    yield None
    for argument in getattr(condition, "args", []):
        if argument.type == ("boolean",):
            yield argument


def drop_column(case, position):
    """The case without one column of CREATE TABLE where no statement names it but whole-row INSERTs."""
    create = case[0]
    name = create.fields[position][0]
    if any(s[0] == name for s in create.spec) or len(create.fields) < 2:
        return None
    out = [vary(create, fields=create.fields[:position] + create.fields[position + 1:])]
    for s in case[1:]:
        if isinstance(s, st.Insert) and isinstance(s.source, st.Bulk):
            if position == 0:
                return None
            b = s.source
            s = vary(s, source=vary(b, fields=b.fields[:position] + b.fields[position + 1:], pool=[r[:position] + r[position + 1:] for r in b.pool]))
        elif isinstance(s, st.Insert) and s.names is None and len(s.source.fields) >= len(create.fields):
            fields = s.source.fields[:position] + s.source.fields[position + 1:]
            s = vary(s, source=vary(s.source, fields=fields, rows=[r[:position] + r[position + 1:] for r in s.source.rows]))
        out.append(s)
    return out


def kind_of(problem):
    """What must stay the same while a case shrinks."""
    if problem.startswith(("the process", "no answer")):
        return "broken"
    return re.match(r"[a-zA-Z _,]*", problem).group() + "".join(re.findall(r"got [A-Z]+", problem))


def shrink(args, case, problem, budget):
    """Ever smaller cases that still fail, in processes of their own."""
    kind = kind_of(problem)
    def still_fails(candidate):
        engine = None
        try:
            engine = Engine(args)
            found, at, _ = run_case(engine, "t", candidate)
            return (found, candidate[: at + 1]) if found and kind_of(found) == kind else None
        except Broken as broken:
            return (str(broken), candidate) if kind == "broken" else None
        except (KeyError, StopIteration, ValueError, IndexError):
            return None  # the statements no longer fit together
        finally:
            if engine is not None:
                engine.close()
    until, found_one = time.time() + budget, True
    while found_one and time.time() < until:
        found_one = False
        candidates = [case[:i] + case[i + 1:] for i in reversed(range(1, len(case)))]
        for i in range(len(case)):
            candidates += [case[:i] + [s] + case[i + 1:] for s in smaller_statement(case[i])]
        candidates += [c for c in (drop_column(case, i) for i in range(len(case[0].fields))) if c]
        for candidate in candidates:
            if time.time() > until:
                break
            result = still_fails(candidate)
            if result:
                problem, case = result
                found_one = True
                break
    return case, problem


def script(case):
    lines = []
    for s in case:
        if getattr(s, "wap", False):
            lines.append(f"-- with spark.wap.branch={s.branch}")
        if getattr(s, "dynamic", False):
            lines.append("-- with spark.sql.sources.partitionOverwriteMode=dynamic")
        lines += [text if text.startswith("--") else text + ";" for text in s.sql("t")]
    return "\n".join(lines)


def cut(text, most=1500):
    return "\n".join(line if len(line) <= most else line[:most] + f" … {len(line) - most} more characters (--print)" for line in text.split("\n"))


class Worker:
    """Runs cases in one process after another; a process is replaced after 25 cases or when it breaks."""

    def __init__(self, args):
        self.args, self.engine, self.used, self.kept = args, None, 0, []
        self.refused, self.done = collections.Counter(), collections.Counter()

    def make(self, number):
        return generate.random_case(random.Random(f"{self.args.seed}:{number}"), 1.0 if self.args.large else 0.15)

    def case(self, number):
        case = self.make(number)
        if self.engine is None:
            self.engine, self.used = Engine(self.args), 0
        self.used += 1
        name = f"t{number}"
        at = len(case) - 1
        try:
            problem, at, check = run_case(self.engine, name, case)
            self.check = check
            self.refused.update(check.refused)
            self.done.update(check.done)
        except Broken as broken:
            problem, check = str(broken), None
            self.drop()
        if problem is None and number < self.args.spark and not check.is_over:
            table = check.table
            table.switch(None)
            lineage = table.version >= 3 and table.ids_known
            known = [f for f in table.fields if f.type[0] != "opaque"]
            columns = [quoted(f.name) for f in known] + (["_row_id", "_last_updated_sequence_number"] if lineage else [])
            rows = [tuple(cell(r.values.get(f.id), f.type) for f in known) + ((r.row_id, r.seq) if lineage else ()) for r in table.rows]
            self.kept.append((self.engine.folder, name, columns, [repr(r) for r in rows]))
        if self.used >= 25:
            self.drop()
        if problem is None:
            return None
        if self.args.shrink > 0:
            case, problem = shrink(self.args, case[: at + 1], problem, self.args.shrink)
        return f"seed {self.args.seed} case {number} {self.label(number)}: {problem}\n{cut(script(case))}\n"

    def label(self, number):
        return ""

    def drop(self):
        if self.engine is not None:
            status, words = self.engine.close(keep=any(k[0] == self.engine.folder for k in self.kept) or getattr(self.args, "keep", False))
            if status not in (0, None) and words:
                print(f"a process ended with status {status}: {words}", flush=True)
            self.engine = None


def spark_reads(args, kept):
    """Names of the tables that real Spark reads otherwise."""
    script_path = os.path.join(HERE, "read_spark.py")
    python = os.environ.get("PY_SPARK", sys.executable)
    job = json.dumps([{"folder": f, "table": n, "columns": c, "rows": r} for f, n, c, r in kept])
    r = subprocess.run([python, script_path], input=job, capture_output=True, text=True)
    if r.returncode != 0:
        return [f"Spark did not run: {r.stderr[-2000:]}"]
    return [line for line in r.stdout.splitlines() if line.startswith("spark: ")]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--frazil", default=os.path.join(HERE, "..", "..", "build", "frazil"))
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--count", type=int, default=500)
    ap.add_argument("--case", type=int, help="only this case")
    ap.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("--timeout", type=float, default=60, help="seconds for one statement")
    ap.add_argument("--shrink", type=float, default=40, help="seconds to spend on making a failing case smaller")
    ap.add_argument("--spark", type=int, default=0, metavar="K", help="real Spark reads the tables of the first K cases")
    ap.add_argument("--large", action="store_true", help="all tables have thousands of rows, in many row groups and pages")
    ap.add_argument("--print", action="store_true", help="print the statements of --case and stop")
    ap.add_argument("--max-failures", type=int, default=20)
    ap.add_argument("--work", help="scratch folder")
    ap.add_argument("-v", action="store_true", help="progress, and the ALTERs that were refused")
    args = ap.parse_args()
    args.frazil = os.path.abspath(args.frazil)
    numbers = range(args.count) if args.case is None else [args.case]
    if args.print:
        print(script(generate.random_case(random.Random(f"{args.seed}:{args.case or 0}"), 1.0 if args.large else 0.15)))
        return 0
    pending, lock, failures, passed = iter(numbers), threading.Lock(), [], [0]
    workers = [Worker(args) for _ in range(max(1, min(args.jobs, len(numbers))))]

    def work(worker):
        while len(failures) < args.max_failures:
            with lock:
                number = next(pending, None)
            if number is None:
                break
            problem = worker.case(number)
            with lock:
                if problem:
                    failures.append(problem)
                    print(problem, flush=True)
                else:
                    passed[0] += 1
                if args.v and (passed[0] + len(failures)) % 100 == 0:
                    print(f"{passed[0]} passed, {len(failures)} failed so far", file=sys.stderr, flush=True)
        worker.drop()

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(work, workers))
    kept = [k for w in workers for k in w.kept]
    if kept:
        wrong = spark_reads(args, kept)
        print("\n".join(wrong) if wrong else f"Spark read {len(kept)} of the tables, all the same")
        passed[0] -= len(wrong)
        failures += wrong
        for folder in {k[0] for k in kept}:
            shutil.rmtree(folder, ignore_errors=True)
    if args.v:
        for text, n in sum((w.refused for w in workers), collections.Counter()).most_common(30):
            print(f"{n} x refused: {text}")
        print("statements:", ", ".join(f"{n} {k}" for k, n in sorted(sum((w.done for w in workers), collections.Counter()).items())))
    print(f"{passed[0]} passed, {len(failures)} failed, 0 skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
