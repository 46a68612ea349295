"""Types, values, their SQL literals and their text in the protocol; comparison and casts as Spark documents them (ANSI mode).

A type is a tuple: ("int",), ("bigint",), ("float",), ("double",), ("decimal", p, s), ("string",), ("binary",), ("boolean",), ("date",),
("timestamp",), ("timestamp_ntz",), ("struct", ((name, type), …)), ("array", type), ("map", key, value).
Values: int, float, Decimal, str, bytes, bool, days or microseconds since 1970 as int, tuple, list, tuple of pairs; None is NULL.
"""
import datetime
import decimal
import json
import math
import struct
from decimal import Decimal

INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, BOOLEAN = (("int",), ("bigint",), ("float",), ("double",), ("string",), ("binary",), ("boolean",))
DATE, TIMESTAMP, NTZ = ("date",), ("timestamp",), ("timestamp_ntz",)
STRUCT = ("struct", (("a", INT), ("b", STRING)))
DEEP = ("struct", (("x", ("struct", (("n", BIGINT), ("d", DATE)))), ("l", ("array", STRING))))
ARRAY, ARRAY_OF_STRUCT, MAP = ("array", INT), ("array", STRUCT), ("map", STRING, INT)
DECIMALS = [("decimal", 5, 2), ("decimal", 9, 0), ("decimal", 18, 6), ("decimal", 20, 3), ("decimal", 38, 10)]
INTEGERS, FLOATS = (INT, BIGINT), (FLOAT, DOUBLE)
LIMITS = {"int": (-2**31, 2**31 - 1), "bigint": (-2**63, 2**63 - 1)}
decimal.DefaultContext.prec = 450  # the contexts of new threads
decimal.getcontext().prec = 450


class SqlError(Exception):
    """A statement that must fail, with its class of test/conformance/README.md."""

    def __init__(self, cls):
        super().__init__(cls)
        self.cls = cls


def is_nested(t):
    return t[0] in ("struct", "array", "map")


def ddl(t):
    kind = t[0]
    if kind == "decimal":
        return f"DECIMAL({t[1]},{t[2]})"
    if kind == "struct":
        return "STRUCT<" + ", ".join(f"`{n}`: {ddl(f)}" for n, f in t[1]) + ">"
    if kind == "array":
        return f"ARRAY<{ddl(t[1])}>"
    if kind == "map":
        return f"MAP<{ddl(t[1])}, {ddl(t[2])}>"
    return kind.upper()


def f32(x):
    if math.isnan(x) or math.isinf(x):
        return x
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def date_text(days):
    return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=days))


def timestamp_text(us):
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=us)
    text = f"{at.year:04d}" + at.strftime("-%m-%d %H:%M:%S")
    return text + (f".{at.microsecond:06d}".rstrip("0") if at.microsecond else "")


def float_text(x, single=False):
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    if single:
        for digits in range(1, 10):
            text = f"{x:.{digits}g}"
            if f32(float(text)) == x:
                return repr(float(text))
    return repr(x)


def quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(v, t):
    """SQL text whose type is exactly t."""
    kind = t[0]
    if v is None:
        return f"CAST(NULL AS {ddl(t)})"
    if kind == "int":
        return str(v) if v >= 0 else f"CAST('{v}' AS INT)"
    if kind == "bigint":
        return f"{v}L" if v >= 0 else f"CAST('{v}' AS BIGINT)"
    if kind in ("float", "double"):
        return f"CAST('{float_text(v, kind == 'float')}' AS {kind.upper()})"
    if kind == "decimal":
        return f"CAST('{v:f}' AS {ddl(t)})"
    if kind == "string":
        return quote(v)
    if kind == "binary":
        return f"X'{v.hex()}'"
    if kind == "boolean":
        return "true" if v else "false"
    if kind == "date":
        return f"DATE '{date_text(v)}'"
    if kind in ("timestamp", "timestamp_ntz"):
        return f"{kind.upper()} '{timestamp_text(v)}'"
    if kind == "struct":
        return "named_struct(" + ", ".join(f"'{n}', {literal(x, f)}" for (n, f), x in zip(t[1], v)) + ")"
    if kind == "array":
        return "array(" + ", ".join(literal(x, t[1]) for x in v) + ")" if v else f"CAST(array() AS {ddl(t)})"
    return "map(" + ", ".join(f"{literal(k, t[1])}, {literal(x, t[2])}" for k, x in v) + ")" if v else f"CAST(map() AS {ddl(t)})"


def json_value(v, t):
    kind = t[0]
    if v is None:
        return "null"
    if kind == "struct":
        return "{" + ",".join(json.dumps(n) + ":" + json_value(x, f) for (n, f), x in zip(t[1], v)) + "}"
    if kind == "array":
        return "[" + ",".join(json_value(x, t[1]) for x in v) + "]"
    if kind == "map":
        items = sorted(((cell(k, t[1]), x) for k, x in v), key=lambda p: p[0].encode())
        return "{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + json_value(x, t[2]) for k, x in items) + "}"
    text = cell(v, t)
    if kind in ("string", "binary", "date", "timestamp", "timestamp_ntz") or text in ("NaN", "Infinity", "-Infinity"):
        return json.dumps(text, ensure_ascii=False)
    return text


def cell(v, t):
    """The text of a value in an answer; None for NULL."""
    kind = t[0]
    if v is None:
        return None
    if kind in ("float", "double"):
        return float_text(v, kind == "float")
    if kind == "decimal":
        return f"{v.quantize(Decimal(1).scaleb(-t[2])):f}"
    if kind == "string":
        return v
    if kind == "binary":
        return v.hex()
    if kind == "boolean":
        return "true" if v else "false"
    if kind == "date":
        return date_text(v)
    if kind in ("timestamp", "timestamp_ntz"):
        return timestamp_text(v)
    if is_nested(t):
        return json_value(v, t)
    return str(v)  # integers, and what foreign.py takes over as text


def parse_cell(text, t):
    """The value of a cell that stands for a bound in `readable_metrics`."""
    kind = t[0]
    if kind in ("int", "bigint"):
        return int(text)
    if kind in ("float", "double"):
        x = float(text.replace("Infinity", "inf"))
        return f32(x) if kind == "float" else x
    if kind == "decimal":
        return Decimal(text)
    if kind == "binary":
        return bytes.fromhex(text)
    if kind == "boolean":
        return text == "true"
    if kind == "date":
        return (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days
    if kind in ("timestamp", "timestamp_ntz"):
        base, _, fraction = text.partition(".")
        at = datetime.datetime.fromisoformat(base) - datetime.datetime(1970, 1, 1)
        return (at.days * 86400 + at.seconds) * 10**6 + int((fraction + "000000")[:6])
    return text


def order_key(v):
    """Spark's order inside one type: NaN is the largest and equal to itself, -0.0 equals 0.0; text by code point; NULL first inside nested ones."""
    if v is None:
        return (0,)
    if isinstance(v, float):
        return (1, 1, 0.0) if math.isnan(v) else (1, 0, v + 0.0 if v != 0 else 0.0)
    if isinstance(v, (tuple, list)):
        return (1, tuple(order_key(x) for x in v))
    return (1, v)


def fits(v, t):
    low, high = LIMITS[t[0]]
    if not low <= v <= high:
        raise SqlError("VALUE")
    return v


def to_decimal(v, t):
    _, p, s = t
    out = v.quantize(Decimal(1).scaleb(-s), rounding=decimal.ROUND_HALF_UP) + 0  # no minus zero
    if abs(out) >= Decimal(10) ** (p - s):
        raise SqlError("VALUE")
    return out


ATOMIC = ("int", "bigint", "float", "double", "decimal", "boolean", "date", "timestamp", "timestamp_ntz", "binary", "string")


def can_store(source, target):
    """ANSI store assignment."""
    a, b = source[0], target[0]
    number = ("int", "bigint", "float", "double", "decimal")
    if a == b and not is_nested(source):
        return True
    if is_nested(source) or is_nested(target):
        return source == target
    return (a in number and b in number) or b == "string" or {a, b} <= {"date", "timestamp", "timestamp_ntz"}


def store(v, source, target):
    """The value as the column keeps it; raises SqlError("VALUE") where it does not fit."""
    if v is None or source == target:
        return v
    a, b = source[0], target[0]
    if b in LIMITS:
        if isinstance(v, float):
            if math.isnan(v) or math.isinf(v):
                raise SqlError("VALUE")
            # Spark compares the floor and the ceiling with the limits, in floating point.
            return fits(int(v), target)
        return fits(int(v), target)
    if b == "decimal":
        if isinstance(v, float):
            if math.isnan(v) or math.isinf(v):
                raise SqlError("VALUE")
            return to_decimal(Decimal(repr(v)), target)
        return to_decimal(Decimal(v), target)
    if b in ("float", "double"):
        return f32(float(v)) if b == "float" else float(v)
    if b == "string":
        return v.decode() if a == "binary" else cell(v, source)
    if b == "date":
        return v // 86_400_000_000
    if a == "date":
        return v * 86_400_000_000
    return v


LONG_TEXTS = ["a common prefix that is longer than sixteen characters " + x for x in ("one", "two", "drei äöü", "四")]
TEXTS = ["", "a", "b", "ab", "A", "a ", "äöü", "漢字", "😀x", "o'clock", "back\\slash", "tab\there", "NULL", "z" * 16, "\U0010ffff" * 17,
         "0", "7", "12"] + LONG_TEXTS


def random_value(rng, t, nulls=0.12, edges=0.08):
    kind = t[0]
    if rng.random() < nulls:
        return None
    edge = rng.random() < edges
    if kind in LIMITS:
        if edge:
            return rng.choice([*LIMITS[kind], LIMITS["int"][1], LIMITS["int"][0], -1])
        return rng.randint(-3, getattr(rng, "high", 14))  # generate.py sets `high` for cases with many rows
    if kind in ("float", "double"):
        x = rng.choice([math.nan, math.inf, -math.inf, -0.0, 1e30, 1e-7, 0.1, 123456789.125] if edge or rng.random() < 0.2 else [0.0, 1.5, -2.25, 3.0, 7.0, 12.5])
        return f32(x) if kind == "float" else x
    if kind == "decimal":
        _, p, s = t
        unscaled = rng.choice([10**p - 1, 1 - 10**p, 1, -1]) if edge else rng.randint(-3, 14) * 10**s + rng.choice([0, 0, 5 * 10 ** (s - 1) if s else 0, 1 if s else 0])
        return Decimal(unscaled).scaleb(-s) if abs(unscaled) < 10**p else Decimal(0)
    if kind == "string":
        return str(rng.randint(0, rng.high)) if hasattr(rng, "high") and rng.random() < 0.7 else rng.choice(TEXTS)
    if kind == "binary":
        return rng.choice([b"", b"\0", b"\xff\0", b"AB", b"\xff" * 20, b"a longer one than sixteen"])
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "date":
        return rng.choice([-718000, 2932896, -25567]) if edge else rng.choice([-400, -366, -1, 0, 1, 31, 365, 19000, 19001, 19358, 19723])
    if kind in ("timestamp", "timestamp_ntz"):
        if edge:
            return rng.choice([-62135596800000000 + 86400000000 * 400, 253402300799999999])
        return rng.choice([-31536000000001, -86400000001, -3600000000, -1, 0, 1, 3599999999, 86400000000, 1700000000123456, 1700003600000000])
    if kind == "struct":
        return tuple(random_value(rng, f, nulls, edges) for _, f in t[1])
    if kind == "array":
        return [random_value(rng, t[1], nulls, edges) for _ in range(rng.randint(0, 3))]
    keys = ["k", "ü", "z"] if t[1] == STRING else list({order_key(k): k for k in (random_value(rng, t[1], 0, 0) for _ in range(3))}.values())
    return tuple((k, random_value(rng, t[2], nulls, edges)) for k in rng.sample(keys, rng.randint(0, len(keys))))
