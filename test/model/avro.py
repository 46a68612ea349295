"""Avro object container files in plain Python, enough for manifests and manifest lists: codecs null and deflate, no schema resolution."""
import io
import json
import os
import struct
import zlib

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


def read_long(f):
    shift = value = 0
    while True:
        (byte,) = f.read(1)
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return (value >> 1) ^ -(value & 1)


def write_long(f, n):
    n = (n << 1) ^ (n >> 63)
    while n > 127:
        f.write(bytes([n & 127 | 128]))
        n >>= 7
    f.write(bytes([n]))


def named(schema, names):
    """The schema itself: names of types that came before are replaced."""
    if isinstance(schema, str) and schema not in PRIMITIVES:
        return names[schema]
    if isinstance(schema, dict) and "name" in schema and schema["type"] in ("record", "fixed", "enum"):
        names[schema["name"]] = schema
    return schema


def read_value(f, schema, names):
    schema = named(schema, names)
    if isinstance(schema, list):
        return read_value(f, schema[read_long(f)], names)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "record":
        return {field["name"]: read_value(f, field["type"], names) for field in schema["fields"]}
    if kind in ("array", "map"):
        out = []
        while n := read_long(f):
            if n < 0:
                n = -n
                read_long(f)
            for _ in range(n):
                key = f.read(read_long(f)).decode() if kind == "map" else None
                value = read_value(f, schema["items" if kind == "array" else "values"], names)
                out.append(value if kind == "array" else (key, value))
        return out if kind == "array" else dict(out)
    if kind == "null":
        return None
    if kind == "boolean":
        return f.read(1) == b"\1"
    if kind in ("int", "long", "enum"):
        return read_long(f)
    if kind in ("float", "double"):
        return struct.unpack("<f" if kind == "float" else "<d", f.read(4 if kind == "float" else 8))[0]
    if kind == "fixed":
        return f.read(schema["size"])
    if kind in ("bytes", "string"):
        data = f.read(read_long(f))
        return data.decode() if kind == "string" else data
    return read_value(f, kind, names)  # {"type": {"type": …}}


def write_value(f, schema, value, names):
    schema = named(schema, names)
    if isinstance(schema, list):  # unions of null and one type only
        branch = next(i for i, s in enumerate(schema) if (s == "null") == (value is None))
        write_long(f, branch)
        return write_value(f, schema[branch], value, names)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "record":
        for field in schema["fields"]:
            write_value(f, field["type"], value.get(field["name"]), names)
    elif kind in ("array", "map"):
        if value:
            write_long(f, len(value))
            for item in value.items() if kind == "map" else value:
                if kind == "map":
                    write_value(f, "string", item[0], names)
                write_value(f, schema["items" if kind == "array" else "values"], item[1] if kind == "map" else item, names)
        write_long(f, 0)
    elif kind == "boolean":
        f.write(b"\1" if value else b"\0")
    elif kind in ("int", "long", "enum"):
        write_long(f, value)
    elif kind in ("float", "double"):
        f.write(struct.pack("<f" if kind == "float" else "<d", value))
    elif kind == "fixed":
        f.write(value)
    elif kind in ("bytes", "string"):
        data = value.encode() if kind == "string" else value
        write_long(f, len(data))
        f.write(data)
    elif kind != "null":
        write_value(f, kind, value, names)


META = {"type": "map", "values": "bytes"}


def read(path):
    """(file metadata, records)."""
    with open(path, "rb") as file:
        f = io.BytesIO(file.read())
    if f.read(4) != b"Obj\1":
        raise ValueError(f"{path} is no Avro file")
    meta = read_value(f, META, {})
    sync, schema, records = f.read(16), json.loads(meta["avro.schema"]), []
    codec = meta.get("avro.codec", b"null")
    while f.tell() < len(f.getbuffer()):
        count = read_long(f)
        data = f.read(read_long(f))
        if codec == b"deflate":
            data = zlib.decompress(data, -15)
        elif codec != b"null":
            raise ValueError(f"codec {codec}")
        block, names = io.BytesIO(data), {}
        for _ in range(count):
            records.append(read_value(block, schema, names))
        if f.read(16) != sync:
            raise ValueError(f"{path}: no sync marker")
    return meta, records


def write(path, meta, records):
    """With the schema and the codec of `meta`; length of the file."""
    schema, block = json.loads(meta["avro.schema"]), io.BytesIO()
    for record in records:
        write_value(block, schema, record, {})
    data, sync, f = block.getvalue(), os.urandom(16), io.BytesIO()
    if meta.get("avro.codec", b"null") == b"deflate":
        deflate = zlib.compressobj(wbits=-15)
        data = deflate.compress(data) + deflate.flush()
    f.write(b"Obj\1")
    write_value(f, META, meta, {})
    f.write(sync)
    if records:
        write_long(f, len(records))
        write_value(f, "bytes", data, {})
        f.write(sync)
    with open(path, "wb") as file:
        file.write(f.getvalue())
    return len(f.getvalue())
