"""Values of any engine as the text that test/conformance/README.md describes, so that rows can be compared as text.

A type is a tuple: ("list", element), ("struct", ((name, type), …)), ("map", key, value), ("float",), ("decimal", p, s), ("variant",) or
("other",); values.py has more of them."""
import datetime
import decimal
import json
import math
import struct
import uuid

OTHER = ("other",)


def float_text(x, single):
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    if single:
        for digits in range(1, 10):
            text = "%.*g" % (digits, x)
            if struct.unpack("f", struct.pack("f", float(text)))[0] == struct.unpack("f", struct.pack("f", x))[0]:
                return repr(float(text))
    return repr(x)


def time_text(v):
    text = v.strftime("%H:%M:%S")
    return text + ((".%06d" % v.microsecond).rstrip("0") if v.microsecond else "")


def scalar(v, kind):
    """(text, does it stand bare in JSON)"""
    if isinstance(v, bool):
        return ("true" if v else "false"), True
    if isinstance(v, int):
        return str(v), True
    if isinstance(v, float):
        text = float_text(v, kind[0] == "float")
        return text, text[-1].isdigit()
    if isinstance(v, decimal.Decimal):
        if kind[0] == "decimal":  # PySpark gives small values more digits than their type has
            v = v.quantize(decimal.Decimal(1).scaleb(-kind[2]), context=decimal.Context(prec=60))
        return format(v, "f"), True
    if isinstance(v, datetime.datetime):
        if v.tzinfo is not None:
            v = v.astimezone(datetime.timezone.utc)
        return "%04d-%02d-%02d " % (v.year, v.month, v.day) + time_text(v), False
    if isinstance(v, datetime.date):
        return "%04d-%02d-%02d" % (v.year, v.month, v.day), False
    if isinstance(v, datetime.time):
        return time_text(v), False
    if isinstance(v, (bytes, bytearray, memoryview)):
        return bytes(v).hex(), False
    if isinstance(v, uuid.UUID):
        return str(v), False
    return str(v), False


def variant_text(v):
    """DuckDB gives a variant as values of Python, Spark as one of its own whose text is JSON."""
    if v is None:
        return "null"
    if isinstance(v, dict):
        return "{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + variant_text(x) for k, x in sorted(v.items())) + "}"
    if isinstance(v, list):
        return "[" + ",".join(variant_text(x) for x in v) + "]"
    text, bare = scalar(v, OTHER)
    return text if bare or type(v).__name__ == "VariantVal" else json.dumps(text, ensure_ascii=False)


def json_text(v, kind):
    if kind[0] == "variant":
        return variant_text(v)
    if v is None:
        return "null"
    if kind[0] == "list":
        return "[" + ",".join(json_text(x, kind[1]) for x in v) + "]"
    if kind[0] == "struct":
        get = v.get if isinstance(v, dict) else (lambda name, items=dict(zip((n for n, _ in kind[1]), v)): items[name])
        return "{" + ",".join(json.dumps(n, ensure_ascii=False) + ":" + json_text(get(n), t) for n, t in kind[1]) + "}"
    if kind[0] == "map":
        items = [(json_text(k, kind[1]) if kind[1][0] in ("list", "struct", "map") else scalar(k, kind[1])[0], json_text(x, kind[2]))
                 for k, x in (v.items() if isinstance(v, dict) else v)]
        return "{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + x for k, x in sorted(items)) + "}"
    text, bare = scalar(v, kind)
    return text if bare else json.dumps(text, ensure_ascii=False)


def cell(v, kind=OTHER):
    """None or the text of one cell, without the escapes of a result line."""
    if v is None:
        return None
    return json_text(v, kind) if kind[0] in ("list", "struct", "map", "variant") else scalar(v, kind)[0]
