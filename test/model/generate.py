"""Random tables and statements."""
import expressions as ex
from equality_deletes import TYPES as EQUALITY_TYPES, EqualityDelete, OldManifests
from statements import (Alter, Bulk, Clause, Create, Delete, Exists, Extreme, FastForward, Insert, InQuery, Merge, SelfSource, Source, Table, Update,
                        set_property as put_property)
from values import (ARRAY, ARRAY_OF_STRUCT, BIGINT, BINARY, BOOLEAN, DATE, DECIMALS, DEEP, DOUBLE, FLOAT, INT, INTEGERS, MAP, NTZ, STRING, STRUCT,
                    TIMESTAMP, can_store, is_nested, random_value)

KEYS = [INT, INT, BIGINT, BIGINT, STRING, DATE, ("decimal", 9, 0), ("decimal", 18, 6), TIMESTAMP, BINARY]
TYPES = [INT, BIGINT, STRING, STRING, DOUBLE, FLOAT, DATE, TIMESTAMP, NTZ, BOOLEAN, BINARY, STRUCT, DEEP, ARRAY, ARRAY_OF_STRUCT, MAP] + DECIMALS
NO_BUCKET = ("float", "double", "boolean")


def random_transform(rng, name, type_):
    """(source column, kind, DDL text), or None."""
    if is_nested(type_) or type_[0] in ("float", "double"):
        return None
    choices = [f"{name}"]
    if type_[0] not in NO_BUCKET:
        choices += [f"bucket({rng.choice([1, 2, 5])}, {name})"] * 2
    if type_[0] in ("int", "bigint", "decimal", "string", "binary"):
        choices.append(f"truncate({rng.choice([1, 3, 10])}, {name})")
    if type_[0] in ("date", "timestamp", "timestamp_ntz"):
        choices += [f"years({name})", f"months({name})", f"days({name})"]
    if type_[0] in ("timestamp", "timestamp_ntz"):
        choices.append(f"hours({name})")
    return (name, type_, rng.choice(choices))


def random_properties(rng):
    version = rng.choice([1, 2, 2, 2, 3, 3, 3])
    out = {"format-version": str(version)}
    for operation in ("merge", "update", "delete"):
        if version > 1 and rng.random() < 0.6:
            out[f"write.{operation}.mode"] = "merge-on-read"
    if rng.random() < 0.4:
        out["write.delete.granularity"] = rng.choice(["file", "partition"])
    if rng.random() < 0.3:
        out["write.target-file-size-bytes"] = str(rng.choice([1, 2000, 20000]))
    if rng.random() < 0.4:
        out["write.parquet.row-group-size-bytes"] = str(rng.choice([1, 1000, 10000]))
    if rng.random() < 0.4:
        out["write.parquet.page-size-bytes"] = str(rng.choice([1, 200, 2000]))
    if rng.random() < 0.3:
        out["write.parquet.page-row-limit"] = str(rng.choice([1, 7, 50]))
    if rng.random() < 0.15:
        out["write.parquet.dict-size-bytes"] = str(rng.choice([1, 64]))
    if rng.random() < 0.3:
        out["write.parquet.compression-codec"] = rng.choice(["snappy", "gzip", "uncompressed", "zstd", "lz4"])
    if rng.random() < 0.2:
        out["write.metadata.metrics.default"] = rng.choice(["none", "counts", "truncate(3)", "full"])
    if rng.random() < 0.3:
        for name in ("k", "c1", "c2"):
            out[f"write.parquet.bloom-filter-enabled.column.{name}"] = "true"
    if rng.random() < 0.15:
        out["commit.manifest.min-count-to-merge"] = "2"
    if rng.random() < 0.1:
        out["write.distribution-mode"] = rng.choice(["none", "hash", "range"])
    return out


def random_create(rng):
    fields = [("k", rng.choice(KEYS))] + [(f"c{i}", rng.choice(TYPES)) for i in range(1, rng.randint(2, 6))]
    spec = []
    if rng.random() < 0.6:
        for name, type_ in rng.sample(fields, min(len(fields), rng.randint(1, 2))):
            transform = random_transform(rng, name, type_)
            spec += [transform] if transform else []
    required = {n for n, t in fields if rng.random() < 0.3} if rng.random() < 0.3 else ()
    return Create(fields, spec, random_properties(rng), required)


def near(rng, type_):
    """A type whose values can be stored in the type, mostly itself."""
    if rng.random() < 0.8 or is_nested(type_):
        return type_
    options = {"int": [BIGINT, ("decimal", 9, 0), DOUBLE], "bigint": [INT, ("decimal", 18, 6)], "double": [FLOAT, INT], "float": [INT], "string": [INT, DATE, BOOLEAN],
               "date": [TIMESTAMP], "timestamp": [DATE], "decimal": [INT, ("decimal", 18, 6), BIGINT]}
    return rng.choice(options.get(type_[0], [type_]))


def random_rows(rng, fields, n, edges=0.06, required=()):
    """`required`: numbers of the columns that are to have hardly any NULL."""
    nulls = rng.choice([0, 0.05, 0.15, 0.5])
    stray = 0.02 if rng.random() < 0.3 else 0
    rows = [[random_value(rng, t, stray if i in required else nulls, edges) for i, (_, t) in enumerate(fields)] for _ in range(n)]
    if rows and rng.random() < 0.3:
        rows += [rng.choice(rows) for _ in range(rng.randint(1, 3))]
    return rows


def row_count(rng):
    r = rng.random()
    return 0 if r < 0.03 else rng.randint(100, 400) if r > 0.95 else rng.randint(40, 100) if r > 0.85 else rng.randint(1, 25)


def bulk_insert(rng, table):
    """500 to 3000 rows with the table's own columns, several row groups and pages."""
    first = table.fields[0]
    if first.type not in (INT, BIGINT, STRING):
        return random_insert(rng, table, False)
    typed = [(f"x{i}", f.type) for i, f in enumerate(table.fields)]
    pool = random_rows(rng, typed, rng.randint(5, 30), 0.02, required_of(table.fields))
    return Insert(Bulk(typed, pool, rng.randint(500, 3000), rng.choice([1, 1, 7919])), None)


def required_of(fields):
    return {i for i, f in enumerate(fields) if f.required}


def random_insert(rng, table, bulk=True):
    if bulk and hasattr(rng, "high") and rng.random() < 0.5:
        return bulk_insert(rng, table)
    settable = table.settable()
    if rng.random() < 0.8 and settable == table.fields:
        names, fields = None, table.fields
    else:
        fields = rng.sample(settable, rng.randint(1, len(settable)))
        fields += [f for f in settable if f not in fields and (f.required or f.unknown_default or f.fixed) and rng.random() < 0.95]
        names = [f.name for f in fields]
    typed = [(f"x{i}", near(rng, f.type)) for i, f in enumerate(fields)]
    source = Source(typed, random_rows(rng, typed, row_count(rng), rng.choice([0, 0.03]), required_of(fields)), rng.random() < 0.1)
    by_value = all(s[2] == s[0] for s in table.spec) and not table.spec_changed and not table.foreign
    dynamic = by_value and source.rows and rng.random() < (0.25 if table.spec else 0.03)
    return Insert(source, names, bool(dynamic) or rng.random() < 0.06, bool(dynamic))


def random_assignments(rng, table, columns, everything=False, parts=False):
    fields = table.settable()
    if not everything:
        fields = rng.sample(fields, rng.randint(1, min(3, len(fields))))
    out = []
    for f in fields:
        if parts and f.type[0] == "struct" and rng.random() < 0.5:
            out += [(f"{f.name}.{n}", ex.random_expression(rng, columns, t)) for n, t in rng.sample(f.type[1], rng.randint(1, len(f.type[1])))]
        else:
            value = ex.random_expression(rng, columns, f.type)
            if f.required and value.type == f.type and not is_nested(f.type) and rng.random() < 0.9:
                value = ex.Call(f.type, "coalesce({0}, {1})", [value, ex.Literal(random_value(rng, f.type, 0), f.type)], lambda x, y: y if x is None else x, strict=False)
            out.append((f.name, value))
    if rng.random() < 0.01:
        victim = rng.randrange(len(out))
        field = table.target(out[victim][0])
        if field.type != STRING and not is_nested(field.type):
            out[victim] = (out[victim][0], ex.Literal("text", STRING))
    return out


def random_update(rng, table):
    where = None if rng.random() < 0.05 else random_where(rng, table)
    return Update(random_assignments(rng, table, table.columns(), parts=True), where)


def random_where(rng, table):
    flat = [c for c in table.columns() if not is_nested(c.type) and c.type not in (DOUBLE, FLOAT)]
    if flat and rng.random() < 0.12:
        column = rng.choice(flat)
        fields = [("q1", column.type), ("q2", INT)]
        source = Source(fields[:1], random_rows(rng, fields[:1], rng.randint(0, 6)))
        r = rng.random()
        if r < 0.5:
            inside = InQuery(column, source, rng.random() < 0.4)
        elif r < 0.8:
            source = Source(fields, random_rows(rng, fields, rng.randint(1, 6)))
            more = ex.random_predicate(rng, [ex.Column("q", "q2", INT)] + [c for c in table.columns() if c.type in INTEGERS], depth=0) if rng.random() < 0.5 else None
            inside = Exists(column, source, more, rng.random() < 0.4)
        elif column.type[0] in ("boolean", "binary"):
            inside = InQuery(column, source, False)
        else:
            inside = Extreme(column, source, rng.choice(["max", "min"]), rng.choice(["=", "<", ">=", "<>"]))
        return inside if rng.random() < 0.7 else ex.Logic("AND", [inside, ex.random_predicate(rng, table.columns(), True, 1)])
    return ex.random_predicate(rng, table.columns(), pushed=True)


def random_delete(rng, table):
    return Delete(random_where(rng, table))


def key_pair(rng, t, s):
    """An equality of two columns whose types can be compared, sometimes through casts."""
    operator = "<=>" if rng.random() < 0.2 else "="
    a, b = t, s
    if t.type in INTEGERS and s.type == STRING:
        return ex.compare(operator, ex.Call(STRING, "CAST({0} AS STRING)", [t], str), s)
    if t.type in INTEGERS and rng.random() < 0.1:
        a, b = [ex.Call(STRING, "CAST({0} AS STRING)", [x], str) for x in (t, s)]
    elif t.type == INT and rng.random() < 0.1:
        a = ex.Call(BIGINT, "CAST({0} AS BIGINT)", [t], int)
    return ex.compare(operator, *((a, b) if rng.random() < 0.7 else (b, a)))


def random_on(rng, table, source):
    t, s = table.columns(), {c.name: c for c in source.columns()}
    r = rng.random()
    if r < 0.03:
        return ex.Literal(rng.random() < 0.3, BOOLEAN)
    atoms = []
    if r < 0.93:
        atoms.append(key_pair(rng, next((c for c in t if c.name == table.key), t[0]), s[table.key]) if table.key in s and any(c.name == table.key for c in t)
                     else ex.random_predicate(rng, t, True, 1))
    if r > 0.75:
        more = [c for c in t if c.name != table.key and c.name in s and s[c.name].type == c.type and c.type[0] not in ("map", "float", "double")]
        if more:
            c = rng.choice(more)
            nested = is_nested(c.type)
            atoms.append(ex.compare("=" if nested else rng.choice(["=", "=", "<=>", "<", ">="]), c, s[c.name]))
    if rng.random() < 0.2:
        atoms.append(ex.random_predicate(rng, t, True, 1))
    if rng.random() < 0.12:
        atoms.append(ex.random_predicate(rng, list(s.values()), depth=1))
    if not atoms:
        return ex.random_predicate(rng, t + list(s.values()), True, 1)
    if len(atoms) == 1:
        return atoms[0]
    return ex.Logic("OR" if rng.random() < 0.06 else "AND", atoms)


def random_clauses(rng, table, source):
    t, s = table.columns(), source.columns()
    star = {f.name for f in table.fields} <= {n for n, _ in source.fields}
    kinds = rng.choice([["matched"], ["not matched"], ["by source"], ["matched", "not matched"], ["matched", "not matched"], ["matched", "not matched"],
                        ["matched", "by source"], ["not matched", "by source"], ["matched", "not matched", "by source"], ["matched", "not matched", "by source"]])
    out = []
    for kind in kinds:
        n = rng.choice([1, 1, 1, 2, 3])
        seen = {"matched": t + s, "not matched": s, "by source": t}[kind]
        for i in range(n):
            last = i == n - 1
            condition = None if last and rng.random() < 0.6 else ex.random_predicate(rng, seen, depth=rng.randint(0, 2))
            if condition is not None and rng.random() < 0.02:
                condition = ex.failing_condition(rng, seen) or condition
            if kind == "not matched":
                full = rng.random() < (0.95 if any(f.required or f.unknown_default for f in table.fields) else 0.7)
                assignments = None if star and rng.random() < 0.5 else random_assignments(rng, table, s, everything=full)
                out.append(Clause(kind, "insert", condition, assignments))
            elif rng.random() < 0.3:
                out.append(Clause(kind, "delete", condition, []))
            else:
                is_star = kind == "matched" and star and rng.random() < 0.3
                out.append(Clause(kind, "update", condition, None if is_star else random_assignments(rng, table, seen, parts=True)))
    return out


def random_source(rng, table):
    fields = []
    for f in table.settable():
        type_ = near(rng, f.type) if f.name != table.key else f.type
        if f.name == table.key:
            if f.type in INTEGERS and rng.random() < 0.25:
                type_ = rng.choice([INT, BIGINT, STRING, ("decimal", 9, 0)])
            fields.append((f.name, type_))
        elif rng.random() < 0.85 or f.required and rng.random() < 0.9:
            fields.append((f.name, type_))
    if rng.random() < 0.3:
        fields.append(("op", STRING))
    if not fields:
        fields.append(("op", STRING))
    if rng.random() < 0.2:
        rng.shuffle(fields)
    rows = random_rows(rng, fields, 0 if rng.random() < 0.04 else 260 if rng.random() < 0.02 else rng.randint(1, 30 if rng.random() < 0.2 else 8), rng.choice([0, 0, 0.04]),
                       {i for i, (n, _) in enumerate(fields) if any(f.name == n and f.required for f in table.fields)})
    key = next((i for i, (n, _) in enumerate(fields) if n == table.key), None)
    if key is not None and rng.random() < 0.75:  # one row a key, so that the cardinality rule stays quiet
        seen, unique = set(), []
        for row in rows:
            if row[key] is None or repr(row[key]) not in seen:
                seen.add(repr(row[key]))
                unique.append(row)
        rows = unique
    return Source(fields, rows, rng.random() < 0.15)


def evolving_source(rng, table):
    """A source for MERGE WITH SCHEMA EVOLUTION: columns of the table, some missing, some wider, and new ones."""
    fields = []
    for f in table.fields:
        if f.name == table.key or f.required or rng.random() < 0.75:
            grown = {"int": BIGINT, "float": DOUBLE, "decimal": ("decimal", min(38, f.type[1] + 3), f.type[2]) if f.type[0] == "decimal" else None}.get(f.type[0], f.type)
            if f.type[0] == "struct":
                grown = ("struct", f.type[1] + ((f"g{len(f.type[1])}_{table.next_id}", rng.choice([INT, STRING, DATE])),))
            fields.append((f.name, grown if rng.random() < 0.3 and f.name not in {s[0] for s in table.spec} else f.type))
    fields += [(f"e{table.next_id + i}", rng.choice(TYPES)) for i in range(rng.randint(0, 2))]
    if rng.random() < 0.3:
        rng.shuffle(fields)
    rows = random_rows(rng, fields, rng.randint(1, 8), required={i for i, (n, _) in enumerate(fields) if any(f.name == n and f.required for f in table.fields)})
    key = next((i for i, (n, _) in enumerate(fields) if n == table.key), None)
    if key is not None:
        rows = list({repr(row[key]): row for row in rows}.values())
    source = Source(fields, rows, rng.random() < 0.15)
    source.evolves = True
    return source


def random_merge(rng, table):
    if rng.random() < 0.06 and not table.foreign and any(f.name == table.key for f in table.fields):
        source = evolving_source(rng, table)
        clauses = [Clause("matched", "update", None if rng.random() < 0.6 else ex.random_predicate(rng, table.columns(), depth=1), None)]
        clauses += [Clause("not matched", "insert", None, None)] if rng.random() < 0.7 else []
        names = {c.name: c for c in source.columns()}
        return Merge(source, ex.compare("=", next(c for c in table.columns() if c.name == table.key), names[table.key]), clauses)
    source = random_source(rng, table)
    if rng.random() < 0.04:
        fields = [(f.name, f.type) for f in table.settable()]
        source = SelfSource(fields, ex.random_predicate(rng, table.columns(), True, 1))
    return Merge(source, random_on(rng, table, source), random_clauses(rng, table, source))


def set_property(key, value):
    def checks(table):
        return (key != "format-version" or int(value) >= table.version) and not (value == "merge-on-read" and table.version == 1)
    return Alter(f"SET TBLPROPERTIES ('{key}'='{value}')", lambda table: put_property(table, key, value), checks)


def replace_type(t, name, type_):
    i = next(i for i, f in enumerate(t.fields) if f.name == name)
    t.fields[i] = t.fields[i].changed(type=type_)


def random_alter(rng, table):
    used = {s[0] for s in table.spec}
    kind = rng.choice(["add", "add", "add part", "move", "drop", "drop", "rename", "widen", "spec add", "spec drop", "mode", "mode", "upgrade", "upgrade", "order", "granularity", "row groups", "null"])
    if kind == "add":
        name, type_ = f"c{table.next_id}_{rng.randint(0, 9)}", rng.choice(TYPES)
        return Alter(f"ADD COLUMN {name} {ex.ddl(type_)}", lambda t: t.add_field(name, type_), lambda t: all(f.name != name for f in t.fields))
    if kind == "drop":
        free = [f.name for f in table.fields if f.name not in used and f.name != table.key and f.name != table.properties.get("ordered")]
        if len(free) > 1:
            name = rng.choice(free)
            return Alter(f"DROP COLUMN {name}", lambda t: t.fields.remove(t.field(name)), lambda t: any(f.name == name for f in t.fields))
    if kind == "add part":
        structs = [f for f in table.fields if f.type[0] == "struct"]
        if structs:
            name, old, type_ = (lambda f: (f.name, f.type, rng.choice([INT, STRING, DOUBLE, DATE])))(rng.choice(structs))
            part = f"p{rng.randint(0, 99)}"
            def add_part(t):
                replace_type(t, name, ("struct", old[1] + ((part, type_),)))
                for row in t.all_rows():
                    field = t.field(name)
                    if row.values.get(field.id) is not None:
                        row.values[field.id] = row.values[field.id] + (None,)
            return Alter(f"ADD COLUMN {name}.{part} {ex.ddl(type_)}", add_part,
                         lambda t: any(f.name == name and f.type == old for f in t.fields) and all(n != part for n, _ in old[1]))
    if kind == "move" and len(table.fields) > 1:
        name, other = (f.name for f in rng.sample(table.fields, 2))
        def move(t):
            field = t.field(name)
            t.fields.remove(field)
            t.fields.insert(t.fields.index(t.field(other)) + 1, field)
        return Alter(f"ALTER COLUMN {name} AFTER {other}", move, lambda t: {name, other} <= {f.name for f in t.fields})
    if kind == "rename":
        free = [f.name for f in table.fields if f.name not in used and f.name != table.key and f.name != table.properties.get("ordered")]
        if free:
            name, new = rng.choice(free), f"r{rng.randint(0, 999)}"
            def rename(t):
                i = next(i for i, f in enumerate(t.fields) if f.name == name)
                t.fields[i] = t.fields[i].changed(name=new)
            return Alter(f"RENAME COLUMN {name} TO {new}", rename, lambda t: any(f.name == name for f in t.fields))
    if kind == "widen":
        wider = [(f, BIGINT if f.type == INT else DOUBLE if f.type == FLOAT else ("decimal", min(38, f.type[1] + 4), f.type[2]))
                 for f in table.fields if f.type in (INT, FLOAT) or f.type[0] == "decimal" and f.type[1] < 38]
        if wider:
            field, type_ = rng.choice(wider)
            name, old = field.name, field.type
            return Alter(f"ALTER COLUMN {name} TYPE {ex.ddl(type_)}", lambda t: replace_type(t, name, type_), lambda t: any(f.name == name and f.type == old for f in t.fields))
    if kind == "spec add":
        free = [f for f in table.fields if f.name not in used]
        transform = random_transform(rng, *(lambda f: (f.name, f.type))(rng.choice(free))) if free else None
        if transform:
            def spec_add(t):
                t.spec.append(transform)
                t.spec_changed = True
            return Alter(f"ADD PARTITION FIELD {transform[2]}", spec_add, lambda t: any(f.name == transform[0] for f in t.fields))
    if kind == "spec drop" and table.spec:
        transform = rng.choice(table.spec)
        def spec_drop(t):
            t.spec.remove(transform)
            t.spec_changed = True
        return Alter(f"DROP PARTITION FIELD {transform[2]}", spec_drop, lambda t: transform in t.spec)
    if kind == "upgrade" and table.version < 3:
        return set_property("format-version", str(rng.randint(table.version + 1, 3)))
    if kind == "granularity":
        return set_property("write.delete.granularity", rng.choice(["file", "partition"]))
    if kind == "row groups":
        key = rng.choice(["write.parquet.row-group-size-bytes", "write.parquet.page-size-bytes", "write.parquet.page-row-limit", "write.parquet.dict-size-bytes"])
        return set_property(key, str(rng.choice([20, 100, 1000]) if key.endswith("limit") else rng.choice([500, 3000, 20000])))
    if kind == "null" and any(f.required for f in table.fields):
        name = rng.choice([f.name for f in table.fields if f.required])
        def drop_not_null(t):
            i = next(i for i, f in enumerate(t.fields) if f.name == name)
            t.fields[i] = t.fields[i].changed(required=False)
        return Alter(f"ALTER COLUMN {name} DROP NOT NULL", drop_not_null, lambda t: any(f.name == name for f in t.fields))
    if kind == "order":
        f = rng.choice(table.fields)
        if not is_nested(f.type):
            def order(t):
                t.properties["ordered"] = f.name
            return Alter(f"WRITE ORDERED BY {f.name} {rng.choice(['ASC', 'DESC NULLS LAST'])}", order, lambda t: any(g.name == f.name for g in t.fields))
    operation = rng.choice(["merge", "update", "delete"])
    return set_property(f"write.{operation}.mode", "copy-on-write" if table.version == 1 else rng.choice(["copy-on-write", "merge-on-read"]))


def random_case(rng, large=0.15):
    """CREATE TABLE and 5 to 10 statements behind it; `large`: how likely the table has thousands of rows in many row groups and pages."""
    table = Table()
    out = [random_create(rng)]
    if rng.random() < large:
        rng.high = 1500  # keys of a case with many rows
        out[0].fields[0] = ("k", rng.choice([INT, BIGINT, BIGINT, STRING]))
        out[0].spec = [s for s in out[0].spec if s[0] != "k"]
        for key in list(out[0].properties):
            if key.endswith("size-bytes") and out[0].properties[key] == "1" or key.endswith("row-limit"):
                out[0].properties[key] = str(rng.choice([3000, 20000])) if key.endswith("bytes") else str(rng.choice([20, 100]))
    table.key = "k"
    out[0].shape(table)
    out.append(bulk_insert(rng, table) if hasattr(rng, "high") else random_insert(rng, table))
    return out + random_statements(rng, table, rng.randint(4, 9), alters=0.15, branches=rng.random() < 0.2, by_hand=rng.random() < 0.25)


def random_equality_delete(rng, table):
    free = [f.name for f in table.fields if f.type[0] in EQUALITY_TYPES]
    if not free or table.version < 2:
        return None
    names = rng.sample(free, min(len(free), rng.choice([1, 1, 2])))
    return EqualityDelete(names, [rng.randrange(1000) for _ in range(rng.randint(1, 4))], None if rng.random() < 0.5 else rng.randrange(1000))


def random_statements(rng, table, n, alters, branches, by_hand):
    """`branches`: some statements go to a branch; `by_hand`: equality deletes come in between."""
    out = []
    for _ in range(n):
        if not table.columns():
            break
        r = rng.random()
        if table.version == 1 and not table.foreign and rng.random() < 0.08:
            out += [OldManifests(rng.random() < 0.5)] + ([set_property("format-version", str(rng.choice([2, 3])))] if rng.random() < 0.5 else [])
            for statement in out[-1:]:
                statement.shape(table)
        if by_hand and rng.random() < 0.25:
            statement = random_equality_delete(rng, table)
            out += [statement] if statement else []
        statement = (random_insert if r < 0.15 else random_update if r < 0.28 else random_delete if r < 0.4 else random_alter if r < 0.4 + alters else random_merge)(rng, table)
        if isinstance(statement, Alter):
            if statement.checks is not None and not statement.checks(table):
                continue
            statement.shape(table)
        else:
            if branches and rng.random() < 0.4 and not getattr(getattr(statement, "source", None), "evolves", False):
                statement.on_branch(*rng.choice([("b1", False), ("b1", False), ("w1", True)]))
            statement.shape(table)
        out.append(statement)
        if branches and getattr(statement, "branch", None) == "b1" and not statement.wap and rng.random() < 0.2:
            out.append(FastForward("b1"))
    return out


def foreign_case(rng, foreign, rows, n=4):
    """Statements on a table of another writer; `rows`: some of its rows, whose values the statements name."""
    table = Table()
    foreign.shape(table)
    rng.pool = {}
    for f in table.settable():
        rng.pool.setdefault(f.type, []).extend(r.values.get(f.id) for r in rows if r.values.get(f.id) is not None)
    keys = [f for f in table.settable() if f.type in KEYS or f.type[0] in ("bigint", "int", "string", "decimal", "date", "timestamp", "timestamp_ntz")]
    distinct = lambda f: len({repr(r.values.get(f.id)) for r in rows})
    table.key = max(keys, key=distinct).name if keys else ""
    merges = [random_merge(rng, table) for _ in range(2)] if keys else []
    return [foreign] + merges + random_statements(rng, table, n, 0.1, False, rng.random() < 0.3)
