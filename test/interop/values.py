"""Types, seeded values, SQL literals: what the model of a table is made of.

A type is a tuple and also a kind of cells.py: ("boolean",) ("int",) ("long",) ("float",) ("double",) ("decimal", p, s) ("date",)
("timestamp",) ("timestamp_ntz",) ("string",) ("binary",) ("list", t) ("struct", ((name, t), …)) ("map", k, v); PyIceberg writes
("time",) ("uuid",) ("fixed", n) too, which Spark SQL has no words for."""
import datetime
import decimal
import struct
import uuid

SQL_NAMES = {"boolean": "BOOLEAN", "int": "INT", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP",
             "timestamp_ntz": "TIMESTAMP_NTZ", "string": "STRING", "binary": "BINARY"}
PRIMITIVES = [(n,) for n in SQL_NAMES] + [("decimal", 7, 2), ("decimal", 18, 4), ("decimal", 38, 10), ("decimal", 9, 0)]
STRINGS = ["", "a", "NULL", "it's", 'say "so"', "back\\slash", "two\nlines", "tab\tbed", "a/b=c&d?e f#g%h", "grün", "Straße", "日本語", "😀",
           "z" * 40, "\U0010ffff" * 20, "abcdefghijklmno😀x", "ab" * 8, "ab" * 8 + "\U0010ffff", " lead", "trail ", "null", "__HIVE_DEFAULT_PARTITION__"]


def sql_type(t):
    if t[0] == "decimal":
        return f"DECIMAL({t[1]},{t[2]})"
    if t[0] == "list":
        return f"ARRAY<{sql_type(t[1])}>"
    if t[0] == "map":
        return f"MAP<{sql_type(t[1])}, {sql_type(t[2])}>"
    if t[0] == "struct":
        return "STRUCT<" + ", ".join(f"{n}: {sql_type(x)}" for n, x in t[1]) + ">"
    return SQL_NAMES[t[0]]


def random_type(rng, depth=2):
    if depth == 0 or rng.random() < 0.6:
        return rng.choice(PRIMITIVES)
    form = rng.choice(("list", "struct", "map"))
    if form == "list":
        return ("list", random_type(rng, depth - 1))
    if form == "map":
        return ("map", rng.choice([("string",), ("int",), ("long",), ("date",)]), random_type(rng, depth - 1))
    return ("struct", tuple((f"f{i}", random_type(rng, depth - 1)) for i in range(rng.randint(1, 3))))


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def random_value(rng, t, nulls=0.15):
    if rng.random() < nulls:
        return None
    kind = t[0]
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in ("int", "long"):
        top = 2**31 if kind == "int" else 2**63
        return rng.choice([rng.randint(-3, 3), rng.randint(-1000, 1000), rng.randint(-top, top - 1), -top, top - 1, 0])
    if kind in ("float", "double"):
        x = rng.choice([0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), float("-inf"), rng.uniform(-1e6, 1e6), rng.uniform(-1, 1) * 1e-20, 1e30])
        return single(x) if kind == "float" else x
    if kind == "decimal":
        digits = rng.choice([1, 2, t[1]])
        return decimal.Decimal(rng.randint(-10**digits + 1, 10**digits - 1)).scaleb(-t[2], decimal.Context(prec=60))
    if kind == "date":
        return rng.choice([datetime.date(1970, 1, 1), datetime.date(1969, 12, 31), datetime.date(1, 1, 1), datetime.date(9999, 12, 31),
                           datetime.date(2024, 2, 29), datetime.date(2024, 1, 1) + datetime.timedelta(rng.randint(-400, 400))])
    if kind in ("timestamp", "timestamp_ntz"):
        day = rng.choice([datetime.datetime(1970, 1, 1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(1900, 1, 1), datetime.datetime(2024, 3, 1)])
        return day + datetime.timedelta(microseconds=rng.choice([0, 1, rng.randint(0, 10**12), -rng.randint(0, 10**12), 3600 * 10**6]))
    if kind == "time":
        return datetime.time(rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59), rng.choice([0, 1, 999999]))
    if kind == "uuid":
        return uuid.UUID(int=rng.getrandbits(128))
    if kind == "fixed":
        return rng.randbytes(t[1])
    if kind == "string":
        return rng.choice(STRINGS + ["s%d" % rng.randint(0, 9)] * 10)
    if kind == "binary":
        return rng.choice([b"", b"\x00", b"\xff" * 20, rng.randbytes(rng.randint(1, 24))])
    if kind == "list":
        return [random_value(rng, t[1]) for _ in range(rng.choice((0, 1, 2, 3)))]
    if kind == "map":
        keys = {}
        for _ in range(rng.choice((0, 1, 2, 3))):
            keys[random_value(rng, t[1], 0)] = random_value(rng, t[2])
        return keys
    return {n: random_value(rng, x) for n, x in t[1]}


def quoted_text(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(v, t):
    kind = t[0]
    if v is None:
        return f"CAST(NULL AS {sql_type(t)})"
    if kind == "boolean":
        return "true" if v else "false"
    if kind in ("float", "double"):
        return f"CAST('{v!r}' AS {sql_type(t)})".replace("'nan'", "'NaN'").replace("'inf'", "'Infinity'").replace("'-inf'", "'-Infinity'")
    if kind == "decimal":
        return f"CAST('{v:f}' AS {sql_type(t)})"
    if kind == "date":
        return f"DATE '{v.isoformat()}'"
    if kind in ("timestamp", "timestamp_ntz"):
        return f"{sql_type(t)} '{v.isoformat(sep=' ')}'"
    if kind == "string":
        return quoted_text(v)
    if kind == "binary":
        return f"X'{v.hex()}'"
    if kind == "list":
        return "array(" + ", ".join(literal(x, t[1]) for x in v) + ")" if v else f"CAST(array() AS {sql_type(t)})"
    if kind == "map":
        return "map(" + ", ".join(f"{literal(k, t[1])}, {literal(x, t[2])}" for k, x in v.items()) + ")" if v else f"CAST(map() AS {sql_type(t)})"
    if kind == "struct":
        return "named_struct(" + ", ".join(f"'{n}', {literal(v.get(n), x)}" for n, x in t[1]) + ")"
    return f"CAST('{v}' AS {sql_type(t)})"


def random_transform(rng, name, t):
    """A partition transform that fits the type, or None."""
    kind, choices = t[0], []
    if kind not in ("float", "double", "list", "map", "struct"):
        choices.append(name)
    if kind in ("int", "long", "decimal", "date", "timestamp", "timestamp_ntz", "string", "binary"):
        choices += [f"bucket({rng.randint(2, 7)}, {name})"] * 2
    if kind in ("int", "long", "decimal", "string", "binary"):
        choices.append(f"truncate({rng.randint(1, 12)}, {name})")
    if kind in ("date", "timestamp", "timestamp_ntz"):
        choices += [f"{what}({name})" for what in ("years", "months", "days") + (("hours",) if kind != "date" else ())]
    return rng.choice(choices) if choices else None
