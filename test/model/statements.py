"""Statements as data: their SQL, and what they do to a naive in-memory table, row by row."""
import copy

from expressions import Column
from values import SqlError, can_store, ddl, literal, order_key, store


class Field:
    def __init__(self, id_, name, type_):
        self.id, self.name, self.type = id_, name, type_


class Row:
    """`values` by field id. `file`, `row_id` and `seq` are what the engine said after the last statement that was found right."""

    def __init__(self, values, file=None, row_id=None, seq=None, state="kept"):
        self.values, self.file, self.row_id, self.seq, self.state = values, file, row_id, seq, state

    def changed(self, values):
        return Row(values, self.file, self.row_id, self.seq, "updated")


class Table:
    def __init__(self):
        self.fields, self.rows, self.next_id = [], [], 1
        self.version, self.properties, self.spec, self.ids_known = 2, {}, [], True
        self.snapshots, self.sequence = 0, 0

    def copy(self):
        out = copy.copy(self)
        out.fields, out.rows, out.spec, out.properties = list(self.fields), list(self.rows), list(self.spec), dict(self.properties)
        return out

    def field(self, name):
        return next(f for f in self.fields if f.name == name)

    def target(self, name):
        """What an assignment to `name` or `name.part` sets."""
        column, _, part = name.partition(".")
        field = self.field(column)
        return Part(field, [n for n, _ in field.type[1]].index(part)) if part else field

    def columns(self, alias="t"):
        return [Column(alias, f.name, f.type) for f in self.fields]

    def env(self, row):
        return {f.name: row.values.get(f.id) for f in self.fields}

    def mode(self, operation):
        return self.properties.get(f"write.{operation}.mode", "copy-on-write")

    def add_field(self, name, type_):
        self.fields.append(Field(self.next_id, name, type_))
        self.next_id += 1


class Outcome:
    """What a statement does: the new rows, or the classes of error it may fail with; and what the summary must say."""

    def __init__(self, table):
        self.rows, self.errors, self.counters, self.copied, self.is_append = list(table.rows), set(), None, None, False


class Create:
    is_setup = True

    def __init__(self, fields, spec, properties):
        self.fields, self.spec, self.properties = fields, spec, properties

    def sql(self, name):
        columns = ", ".join(f"{n} {ddl(t)}" for n, t in self.fields)
        spec = f" PARTITIONED BY ({', '.join(s[2] for s in self.spec)})" if self.spec else ""
        properties = ", ".join(f"'{k}'='{v}'" for k, v in self.properties.items())
        return [f"CREATE TABLE {name} ({columns}) USING iceberg{spec} TBLPROPERTIES ({properties})"]

    def shape(self, table):
        for name, type_ in self.fields:
            table.add_field(name, type_)
        table.spec, table.properties, table.version = list(self.spec), dict(self.properties), int(self.properties["format-version"])


class Alter:
    """A change of schema, spec, order or properties; `change` is a function of the model's table."""

    is_setup = True

    def __init__(self, text, change, checks=None):
        self.text, self.change, self.checks = text, change, checks

    def sql(self, name):
        return [f"ALTER TABLE {name} {self.text}"]

    def shape(self, table):
        if self.checks is not None and not self.checks(table):
            raise KeyError(self.text)
        self.change(table)


class Source:
    """A relation of literal rows, inline or as a table of its own."""

    def __init__(self, fields, rows, as_table=False):
        self.fields, self.rows, self.as_table = fields, rows, as_table

    def columns(self, alias="s"):
        return [Column(alias, n, t) for n, t in self.fields]

    def setup(self, name):
        if not self.as_table:
            return []
        columns = ", ".join(f"{n} {ddl(t)}" for n, t in self.fields)
        out = [f"DROP TABLE IF EXISTS {name}_src", f"CREATE TABLE {name}_src ({columns}) USING iceberg"]
        return out + ([f"INSERT INTO {name}_src {self.values()}"] if self.rows else [])

    def values(self):
        return "VALUES " + ", ".join("(" + ", ".join(literal(v, t) for v, (_, t) in zip(row, self.fields)) + ")" for row in self.rows)

    def relation(self, name):
        if self.as_table:
            return f"{name}_src"
        if not self.rows:
            return "(SELECT " + ", ".join(f"{literal(None, t)} AS {n}" for n, t in self.fields) + " WHERE false)"
        return f"(SELECT * FROM {self.values()} AS v({', '.join(n for n, _ in self.fields)}))"

    def envs(self):
        return [dict(zip((n for n, _ in self.fields), row)) for row in self.rows]


class Bulk(Source):
    """Many rows in a short text: the rows of a pool over and over, the first column (an integer or text) numbered through."""

    as_table = False

    def __init__(self, fields, pool, n, step):
        self.fields, self.pool, self.n, self.step = fields, pool, n, step

    @property
    def rows(self):
        count = str if self.fields[0][1] == ("string",) else int
        return [[count(i * self.step % self.n)] + list(self.pool[i % len(self.pool)][1:]) for i in range(self.n)]

    def relation(self, name):
        names = [n for n, _ in self.fields]
        pool = Source([("i", ("bigint",))] + self.fields, [[i] + list(row) for i, row in enumerate(self.pool)]).values()
        key = f"CAST(r.id * {self.step} % {self.n} AS {ddl(self.fields[0][1])}) AS {names[0]}"
        return (f"(SELECT {', '.join([key] + ['v.' + n for n in names[1:]])} FROM range({self.n}) AS r "
                f"JOIN (SELECT * FROM {pool} AS v(i, {', '.join(names)})) AS v ON r.id % {len(self.pool)} = v.i)")


class Part:
    """A field inside a struct column as the target of an assignment: looks like a Field, stores into the whole value."""

    def __init__(self, field, index):
        self.field, self.index, self.id = field, index, (field.id, index)
        self.type = field.type[1][index][1]


def put_parts(values, old, fields):
    """Values by id where ids may be (id, index): the parts go into the structs they belong to; a NULL struct comes into being."""
    out = {k: v for k, v in values.items() if not isinstance(k, tuple)}
    for key, v in values.items():
        if isinstance(key, tuple):
            id_, index = key
            n = len(next(f for f in fields if f.id == id_).type[1])
            base = list(out.get(id_, old.get(id_)) or (None,) * n)
            base[index] = v
            out[id_] = tuple(base)
    return out


def store_all(pairs, env, errors):
    """Evaluates and stores [(field, expression)]; errors are collected."""
    out = {}
    for field, e in pairs:
        if not can_store(e.type, field.type):
            errors.add("TYPE")
            continue
        try:
            out[field.id] = store(e.eval(env), e.type, field.type)
        except SqlError as error:
            errors.add(error.cls)
    return out


def check_types(pairs, errors):
    for field, e in pairs:
        if not can_store(e.type, field.type):
            errors.add("TYPE")


def holds(condition, env, errors):
    try:
        return condition.eval(env) is True
    except SqlError as error:
        errors.add(error.cls)
        return False


class Insert:
    is_setup = False

    def __init__(self, source, columns, overwrite=False):
        self.source, self.names = source, columns  # names of the table's columns that the source's columns go to; None: all, by position
        self.overwrite = overwrite  # the whole table (static mode)

    def sql(self, name):
        columns = "" if self.names is None else f" ({', '.join(self.names)})"
        into = f"INSERT {'OVERWRITE' if self.overwrite else 'INTO'} {name}{columns}"
        if self.source.rows and not self.source.as_table and not isinstance(self.source, Bulk):
            return [f"{into} {self.source.values()}"]
        return self.source.setup(name) + [f"{into} SELECT * FROM {self.source.relation(name)} AS s"]

    def run(self, table):
        out = Outcome(table)
        if self.overwrite:
            out.rows = []
        fields = table.fields if self.names is None else [table.field(n) for n in self.names]
        if len(fields) != len(self.source.fields):
            raise KeyError("columns")
        pairs = list(zip(fields, self.source.columns()))
        check_types(pairs, out.errors)
        for env in self.source.envs():
            out.rows.append(Row(store_all(pairs, {"s": env}, out.errors), state="new"))
        return out


def assign(table, row, pairs, env, errors):
    old = {f.id: row.values.get(f.id) for f in table.fields}
    return row.changed({**old, **put_parts(store_all(pairs, env, errors), old, table.fields)})


def copied_rows(table, files, changed):
    return sum(1 for row in table.rows if row.file in files and id(row) not in changed)


class Update:
    is_setup = False

    def __init__(self, assignments, where):
        self.assignments, self.where = assignments, where

    def sql(self, name):
        sets = ", ".join(f"t.{n} = {e.sql()}" for n, e in self.assignments)
        return [f"UPDATE {name} AS t SET {sets}" + (f" WHERE {self.where.sql()}" if self.where else "")]

    def run(self, table):
        out = Outcome(table)
        out.rows = []
        pairs = [(table.target(n), e) for n, e in self.assignments]
        check_types(pairs, out.errors)
        for row in table.rows:
            env = {"t": table.env(row)}
            hit = self.where is None or holds(self.where, env, out.errors)
            out.rows.append(assign(table, row, pairs, env, out.errors) if hit else row)
        return out


class Delete:
    is_setup = False

    def __init__(self, where):
        self.where = where

    def sql(self, name):
        return [f"DELETE FROM {name} AS t WHERE {self.where.sql()}"]

    def run(self, table):
        out = Outcome(table)
        out.rows = [row for row in table.rows if not holds(self.where, {"t": table.env(row)}, out.errors)]
        return out


class InQuery:
    """t.column [NOT] IN (SELECT k FROM the source)."""

    type, args = ("boolean",), ()

    def __init__(self, column, source, negated):
        self.column, self.source, self.negated = column, source, negated

    def sql(self):
        name = self.source.fields[0][0]
        return f"({self.column.sql()} {'NOT ' if self.negated else ''}IN (SELECT q.{name} FROM {self.source.relation('')} AS q))"

    def eval(self, env):
        values = [row[0] for row in self.source.rows]
        x = self.column.eval(env)
        if not values:
            return self.negated
        if x is None:
            return None
        if any(v is not None and order_key(v) == order_key(x) for v in values):
            return not self.negated
        return None if None in values else self.negated


class Clause:
    def __init__(self, kind, action, condition, assignments):
        # kind: matched, not matched, by source; action: update, delete, insert; assignments None: *
        self.kind, self.action, self.condition, self.assignments = kind, action, condition, assignments

    def sql(self):
        words = {"matched": "MATCHED", "not matched": "NOT MATCHED", "by source": "NOT MATCHED BY SOURCE"}[self.kind]
        text = f"WHEN {words}" + (f" AND {self.condition.sql()}" if self.condition else "") + " THEN "
        if self.action == "delete":
            return text + "DELETE"
        if self.assignments is None:
            return text + ("UPDATE SET *" if self.action == "update" else "INSERT *")
        if self.action == "update":
            return text + "UPDATE SET " + ", ".join(f"t.{n} = {e.sql()}" for n, e in self.assignments)
        return text + f"INSERT ({', '.join(n for n, _ in self.assignments)}) VALUES ({', '.join(e.sql() for _, e in self.assignments)})"

    def pairs(self, table, source):
        if self.assignments is not None:
            return [(table.target(n), e) for n, e in self.assignments]
        by_name = {c.name: c for c in source.columns()}
        return [(f, by_name[f.name]) for f in table.fields]


class SelfSource(Source):
    """Rows of the target itself: (SELECT … FROM t WHERE …)."""

    as_table = False

    def __init__(self, fields, where):
        self.fields, self.where, self.rows = fields, where, []

    def bind(self, table):
        envs = [table.env(row) for row in table.rows]
        self.rows = [[env[n] for n, _ in self.fields] for env in envs if self.where.eval({"t": env}) is True]

    def relation(self, name):
        return f"(SELECT {', '.join('t.' + n for n, _ in self.fields)} FROM {name} AS t WHERE {self.where.sql()})"


class Merge:
    is_setup = False

    def __init__(self, source, on, clauses):
        self.source, self.on, self.clauses = source, on, clauses

    def sql(self, name):
        return self.source.setup(name) + [
            f"MERGE INTO {name} AS t USING {self.source.relation(name)} AS s ON {self.on.sql()}\n" + "\n".join(c.sql() for c in self.clauses)]

    def of_kind(self, kind):
        return [c for c in self.clauses if c.kind == kind]

    def first(self, kind, env, errors):
        for clause in self.of_kind(kind):
            try:
                if clause.condition is None or clause.condition.eval(env) is True:
                    return clause
            except SqlError as error:
                errors.add(error.cls)
                return None
        return None

    def checks_cardinality(self):
        matched = self.of_kind("matched")
        return bool(matched) and not (len(matched) == 1 and matched[0].action == "delete" and matched[0].condition is None)

    def run(self, table):
        out = Outcome(table)
        if isinstance(self.source, SelfSource):
            self.source.bind(table)
        counts = dict.fromkeys(("inserted", "matched-updated", "matched-deleted", "by-source-updated", "by-source-deleted"), 0)
        sources = self.source.envs()
        is_matched, touched, changed = [False] * len(sources), set(), set()
        for clause in self.clauses:
            if clause.action != "delete":
                check_types(clause.pairs(table, self.source), out.errors)
        out.rows = []
        for row in table.rows:
            env = {"t": table.env(row)}
            matches = [i for i, s in enumerate(sources) if self.on.eval({**env, "s": s}) is True]
            for i in matches:
                is_matched[i] = True
            if len(matches) > 1 and self.checks_cardinality():
                out.errors.add("CARDINALITY")
            if matches:
                touched.add(row.file)
            results = [self.apply(table, row, "matched", {**env, "s": sources[i]}, counts, out) for i in matches]
            results = results or [self.apply(table, row, "by source", env, counts, out)]
            if results[0] is not row:
                changed.add(id(row))
            if results[0] is not None:
                out.rows.append(results[0])
        for i, s in enumerate(sources):
            if not is_matched[i]:
                clause = self.first("not matched", {"s": s}, out.errors)
                if clause is not None:
                    values = store_all(clause.pairs(table, self.source), {"s": s}, out.errors)
                    out.rows.append(Row(values, state="new"))
                    counts["inserted"] += 1
        insert_only = not self.of_kind("matched") and not self.of_kind("by source")
        out.is_append = insert_only
        out.counters = {
            "updated": counts["matched-updated"] + counts["by-source-updated"], "deleted": counts["matched-deleted"] + counts["by-source-deleted"],
            "inserted": counts["inserted"], "matched-updated": counts["matched-updated"], "matched-deleted": counts["matched-deleted"],
            "not-matched-by-source-updated": counts["by-source-updated"], "not-matched-by-source-deleted": counts["by-source-deleted"]}
        # What copy-on-write must copy at least: the rows of files with a changed row; and at most: of files with a matching row.
        if table.mode("merge") == "merge-on-read" or insert_only:
            out.copied = (0, 0)
        else:
            least = {row.file for row in table.rows if id(row) in changed}
            most = {row.file for row in table.rows} if self.of_kind("by source") else touched | least
            out.copied = (copied_rows(table, least, changed), copied_rows(table, most, changed))
        return out

    def apply(self, table, row, kind, env, counts, out):
        clause = self.first(kind, env, out.errors)
        if clause is None:
            return row
        counts[("matched" if kind == "matched" else "by-source") + ("-deleted" if clause.action == "delete" else "-updated")] += 1
        if clause.action == "delete":
            return None
        return assign(table, row, clause.pairs(table, self.source), env, out.errors)
