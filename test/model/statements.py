"""Statements as data: their SQL, and what they do to a naive in-memory table, row by row."""
import copy

from expressions import COMPARE, Column, quoted
from values import SqlError, can_store, ddl, literal, order_key, store


class Field:
    """`fixed`: the model makes no values for it (a type it does not know); `default`: what an INSERT without the column stores."""

    fixed, default, unknown_default = False, None, False

    def __init__(self, id_, name, type_, required=False):
        self.id, self.name, self.type, self.required = id_, name, type_, required

    def changed(self, **what):
        out = copy.copy(self)
        for key, value in what.items():
            setattr(out, key, value)
        return out


class Row:
    """`values` by field id. `file`, `row_id` and `seq` are what the engine said after the last statement that was found right."""

    def __init__(self, values, file=None, row_id=None, seq=None, state="kept"):
        self.values, self.file, self.row_id, self.seq, self.state = values, file, row_id, seq, state

    def changed(self, values):
        return Row(values, self.file, self.row_id, self.seq, "updated")


class Branch:
    """Rows of a branch; `base`: the number of the commit on main that it began with or was the end of a fast-forward to."""

    def __init__(self, rows, ids_known, base):
        self.rows, self.ids_known, self.base = rows, ids_known, base


class Table:
    """`rows` and `ids_known` are those of the branch `at`; the other branches wait in `branches`."""

    foreign = False

    def __init__(self):
        self.fields, self.rows, self.next_id = [], [], 1
        self.version, self.properties, self.spec, self.ids_known = 2, {}, [], True
        self.snapshots, self.sequence, self.commits = 0, 0, 0
        self.at, self.branches, self.spec_changed, self.has_equality_deletes = None, {}, False, False

    def copy(self):
        out = copy.copy(self)
        out.fields, out.rows, out.spec, out.properties = list(self.fields), list(self.rows), list(self.spec), dict(self.properties)
        out.branches = {k: copy.copy(v) for k, v in self.branches.items()}
        return out

    def switch(self, to):
        """Makes `rows` those of a branch (None: main); a branch that is not there begins as main."""
        if to == self.at:
            return
        self.branches[self.at] = Branch(self.rows, self.ids_known, self.commits if self.at is None else self.branches[self.at].base)
        if to not in self.branches:
            main = self.branches[None]
            self.branches[to] = Branch(list(main.rows), main.ids_known, self.commits)
        self.at, self.rows, self.ids_known = to, self.branches[to].rows, self.branches[to].ids_known

    def all_rows(self):
        seen = {id(row): row for b in self.branches.values() for row in b.rows}
        seen.update((id(row), row) for row in self.rows)
        return seen.values()

    def forget_ids(self):
        self.ids_known = False
        for b in self.branches.values():
            b.ids_known = False

    def field(self, name):
        return next(f for f in self.fields if f.name == name)

    def target(self, name):
        """What an assignment to `name` or `name.part` sets."""
        column, _, part = name.partition(".")
        if any(f.name == name for f in self.fields):
            column, part = name, ""
        field = self.field(column)
        return Part(field, [n for n, _ in field.type[1]].index(part)) if part else field

    def columns(self, alias="t"):
        return [Column(alias, f.name, f.type) for f in self.fields if f.type[0] != "opaque"]

    def settable(self):
        return [f for f in self.fields if not f.fixed]

    def env(self, row):
        return {f.name: row.values.get(f.id) for f in self.fields}

    def mode(self, operation):
        return self.properties.get(f"write.{operation}.mode", "copy-on-write")

    def add_field(self, name, type_, required=False):
        self.fields.append(Field(self.next_id, name, type_, required))
        self.next_id += 1


def set_property(table, key, value):
    table.properties[key] = value
    if key == "format-version":
        if int(value) == 3 and table.version < 3:
            table.forget_ids()
        table.version = int(value)


def path(name):
    """An assignment's target as SQL."""
    return ".".join(quoted(p) for p in name.split(".")) if "`" not in name else name


class Change:
    """A statement that changes rows. `branch`: it is sent to `t.branch_x`, or, with `wap`, to `t` while spark.wap.branch is x."""

    is_setup, branch, wap = False, None, False

    def on_branch(self, branch, wap=False):
        self.branch, self.wap = branch, wap
        return self

    def target(self, name):
        return f"ice.db.{name}.branch_{self.branch}" if self.branch and not self.wap else name

    def shape(self, table):
        """What the statement does to the schema."""


class Outcome:
    """What a statement does: the new rows, or the classes of error it may fail with; and what the summary must say."""

    def __init__(self, table):
        self.rows, self.errors, self.counters, self.copied, self.is_append = list(table.rows), set(), None, None, False


class Create:
    is_setup = True

    def __init__(self, fields, spec, properties, required=()):
        self.fields, self.spec, self.properties, self.required = fields, spec, properties, required

    def sql(self, name):
        columns = ", ".join(f"{n} {ddl(t)}{' NOT NULL' if n in self.required else ''}" for n, t in self.fields)
        spec = f" PARTITIONED BY ({', '.join(s[2] for s in self.spec)})" if self.spec else ""
        properties = ", ".join(f"'{k}'='{v}'" for k, v in self.properties.items())
        return [f"CREATE TABLE {name} ({columns}) USING iceberg{spec} TBLPROPERTIES ({properties})"]

    def shape(self, table):
        for name, type_ in self.fields:
            table.add_field(name, type_, name in self.required)
        table.spec, table.properties, table.version = list(self.spec), dict(self.properties), int(self.properties["format-version"])


class FastForward:
    """main goes to where a branch is."""

    is_setup = True

    def __init__(self, branch):
        self.branch = branch

    def sql(self, name):
        return [f"CALL ice.system.fast_forward('db.{name}', 'main', '{self.branch}')"]

    def shape(self, table):
        b = table.branches.get(self.branch)
        if b is None or b.base != table.commits:
            raise KeyError(self.branch)
        table.rows, table.ids_known = list(b.rows), b.ids_known


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
    """A relation of literal rows, inline or as a table of its own. `evolves`: of a MERGE WITH SCHEMA EVOLUTION."""

    evolves = False

    def __init__(self, fields, rows, as_table=False):
        self.fields, self.rows, self.as_table = fields, rows, as_table

    def columns(self, alias="s"):
        return [Column(alias, n, t) for n, t in self.fields]

    def setup(self, name):
        if not self.as_table:
            return []
        columns = ", ".join(f"{quoted(n)} {ddl(t)}" for n, t in self.fields)
        out = [f"DROP TABLE IF EXISTS {name}_src", f"CREATE TABLE {name}_src ({columns}) USING iceberg"]
        return out + ([f"INSERT INTO {name}_src {self.values()}"] if self.rows else [])

    def values(self):
        return "VALUES " + ", ".join("(" + ", ".join(literal(v, t) for v, (_, t) in zip(row, self.fields)) + ")" for row in self.rows)

    def relation(self, name, target=None):
        if self.as_table:
            return f"{name}_src"
        if not self.rows:
            return "(SELECT " + ", ".join(f"{literal(None, t)} AS {quoted(n)}" for n, t in self.fields) + " WHERE false)"
        return f"(SELECT * FROM {self.values()} AS v({', '.join(quoted(n) for n, _ in self.fields)}))"

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

    def relation(self, name, target=None):
        names = [n for n, _ in self.fields]
        pool = Source([("i", ("bigint",))] + self.fields, [[i] + list(row) for i, row in enumerate(self.pool)]).values()
        key = f"CAST(r.id * {self.step} % {self.n} AS {ddl(self.fields[0][1])}) AS {names[0]}"
        return (f"(SELECT {', '.join([key] + ['v.' + n for n in names[1:]])} FROM range({self.n}) AS r "
                f"JOIN (SELECT * FROM {pool} AS v(i, {', '.join(names)})) AS v ON r.id % {len(self.pool)} = v.i)")


class Part:
    """A field inside a struct column as the target of an assignment: looks like a Field, stores into the whole value."""

    def __init__(self, field, index):
        self.field, self.index, self.id, self.required = field, index, (field.id, index), False
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
            if field.required and out[field.id] is None:
                errors.add("CONSTRAINT")
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


class Insert(Change):
    def __init__(self, source, columns, overwrite=False, dynamic=False):
        self.source, self.names = source, columns  # names of the table's columns that the source's columns go to; None: all, by position
        self.overwrite, self.dynamic = overwrite, dynamic  # the whole table; dynamic: the partitions of the new rows

    def sql(self, name):
        columns = "" if self.names is None else f" ({', '.join(quoted(n) for n in self.names)})"
        into = f"INSERT {'OVERWRITE' if self.overwrite else 'INTO'} {self.target(name)}{columns}"
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
        if any(f.required and f not in fields for f in table.fields):
            out.errors.add("TYPE")
        new = [new_row(table, pairs, {"s": env}, out.errors) for env in self.source.envs()]
        if self.dynamic:
            partition = lambda row: tuple(order_key(row.values.get(table.field(s[0]).id)) for s in table.spec)
            replaced = {partition(row) for row in new} if table.spec else {()}
            out.rows = [row for row in table.rows if partition(row) not in replaced] if new or not table.spec else list(table.rows)
        out.rows += new
        return out


def new_row(table, pairs, env, errors):
    values = {f.id: f.default for f in table.fields if f.default is not None}
    values.update(store_all(pairs, env, errors))
    return Row(values, state="new")


def assign(table, row, pairs, env, errors):
    old = {f.id: row.values.get(f.id) for f in table.fields}
    return row.changed({**old, **put_parts(store_all(pairs, env, errors), old, table.fields)})


def copied_rows(table, files, changed):
    return sum(1 for row in table.rows if row.file in files and id(row) not in changed)


class Update(Change):
    def __init__(self, assignments, where):
        self.assignments, self.where = assignments, where

    def sql(self, name):
        sets = ", ".join(f"t.{path(n)} = {e.sql()}" for n, e in self.assignments)
        return [f"UPDATE {self.target(name)} AS t SET {sets}" + (f" WHERE {self.where.sql()}" if self.where else "")]

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


class Delete(Change):
    def __init__(self, where):
        self.where = where

    def sql(self, name):
        return [f"DELETE FROM {self.target(name)} AS t WHERE {self.where.sql()}"]

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


class Exists:
    """[NOT] EXISTS (SELECT … WHERE q.column = t.column AND …): correlated."""

    type, args = ("boolean",), ()

    def __init__(self, column, source, condition, negated):
        self.column, self.source, self.condition, self.negated = column, source, condition, negated

    def sql(self):
        name = self.source.fields[0][0]
        more = f" AND {self.condition.sql()}" if self.condition else ""
        return f"({'NOT ' if self.negated else ''}EXISTS (SELECT 1 FROM {self.source.relation('')} AS q WHERE q.{name} = {self.column.sql()}{more}))"

    def eval(self, env):
        x = self.column.eval(env)
        for q in self.source.envs():
            v = next(iter(q.values()))
            if x is not None and v is not None and order_key(v) == order_key(x) and (self.condition is None or self.condition.eval({**env, "q": q}) is True):
                return not self.negated
        return self.negated


class Extreme:
    """t.column operator (SELECT max(…) or min(…) FROM the source)."""

    type, args = ("boolean",), ()

    def __init__(self, column, source, word, operator):
        self.column, self.source, self.word, self.operator = column, source, word, operator

    def sql(self):
        return f"({self.column.sql()} {self.operator} (SELECT {self.word}(q.{self.source.fields[0][0]}) FROM {self.source.relation('')} AS q))"

    def eval(self, env):
        values = [row[0] for row in self.source.rows if row[0] is not None]
        x = self.column.eval(env)
        if not values or x is None:
            return None
        y = (max if self.word == "max" else min)(values, key=order_key)
        return COMPARE[self.operator](order_key(x), order_key(y))


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
            return text + "UPDATE SET " + ", ".join(f"t.{path(n)} = {e.sql()}" for n, e in self.assignments)
        return text + f"INSERT ({', '.join(quoted(n) for n, _ in self.assignments)}) VALUES ({', '.join(e.sql() for _, e in self.assignments)})"

    def pairs(self, table, source):
        if self.assignments is not None:
            return [(table.target(n), e) for n, e in self.assignments]
        by_name = {c.name: c for c in source.columns()}
        return [(f, by_name[f.name]) for f in table.fields if f.name in by_name or not source.evolves]


class SelfSource(Source):
    """Rows of the target itself: (SELECT … FROM t WHERE …)."""

    as_table = False

    def __init__(self, fields, where):
        self.fields, self.where, self.rows = fields, where, []

    def bind(self, table):
        envs = [table.env(row) for row in table.rows]
        self.rows = [[env[n] for n, _ in self.fields] for env in envs if self.where.eval({"t": env}) is True]

    def relation(self, name, target=None):
        return f"(SELECT {', '.join('t.' + quoted(n) for n, _ in self.fields)} FROM {target or name} AS t WHERE {self.where.sql()})"


def wider(old, new):
    """Whether schema evolution makes the one type the other."""
    decimals = old[0] == new[0] == "decimal"
    return (old, new) in ((("int",), ("bigint",)), (("float",), ("double",))) or decimals and old[2] == new[2] and new[1] > old[1]


class Merge(Change):
    def __init__(self, source, on, clauses):
        self.source, self.on, self.clauses = source, on, clauses

    def sql(self, name):
        target = self.target(name)
        return self.source.setup(name) + [
            f"MERGE {'WITH SCHEMA EVOLUTION ' if self.source.evolves else ''}INTO {target} AS t USING {self.source.relation(name, target)} AS s ON {self.on.sql()}\n"
            + "\n".join(c.sql() for c in self.clauses)]

    def shape(self, table):
        """WITH SCHEMA EVOLUTION: columns and wider types of the source, where a clause with * is there."""
        if not self.source.evolves or not any(c.assignments is None for c in self.clauses):
            return
        for name, type_ in self.source.fields:
            i = next((i for i, f in enumerate(table.fields) if f.name == name), None)
            if i is None:
                table.add_field(name, type_)
            elif wider(table.fields[i].type, type_):
                table.fields[i] = table.fields[i].changed(type=type_)
            elif table.fields[i].type != type_ and table.fields[i].type[0] == type_[0] == "struct":  # a new field at the end
                field = table.fields[i] = table.fields[i].changed(type=type_)
                for row in table.all_rows():
                    if row.values.get(field.id) is not None and len(row.values[field.id]) < len(type_[1]):
                        row.values[field.id] += (None,)

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
            if clause.action == "insert" and any(f.required and f not in [p for p, _ in clause.pairs(table, self.source)] for f in table.fields):
                out.errors.add("INVALID")
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
                    out.rows.append(new_row(table, clause.pairs(table, self.source), {"s": s}, out.errors))
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
