"""Tables of ../shared/data/iceberg (Spark, PyIceberg, Impala, Trino, DuckDB, Polars) as the first statement of a case."""
import datetime
import json
import math
import os
import struct
import subprocess
from decimal import Decimal

import statements as st
from iceberg_files import Copy, register
from values import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, INT, NTZ, STRING, TIMESTAMP, f32, parse_cell

HERE = os.path.dirname(os.path.abspath(__file__))
UNPACKED = "/tmp/frazil-data"  # the metadata of Spark's and PyIceberg's tables name it
PRIMITIVES = {"int": INT, "long": BIGINT, "float": FLOAT, "double": DOUBLE, "string": STRING, "binary": BINARY, "boolean": BOOLEAN, "date": DATE,
              "timestamptz": TIMESTAMP, "timestamp": NTZ}


def data_folder():
    """The folder of the material, unpacked; None where it is not there."""
    folder = os.path.join(os.environ.get("FRAZIL_SHARED_DATA", os.path.join(HERE, "..", "..", "..", "shared", "data")), "iceberg", "tables")
    if not os.path.exists(os.path.join(folder, "tables.json")):
        return None
    if not os.path.isdir(os.path.join(UNPACKED, "wh")):
        subprocess.run(["sh", os.path.join(folder, "unpack.sh")], check=True)
    return os.path.abspath(folder)


def model_type(t):
    """The model's type; ("opaque", name) for one that the model does not compute with."""
    if isinstance(t, str):
        if t.startswith("decimal"):
            p, s = t[8:-1].split(",")
            return ("decimal", int(p), int(s))
        return PRIMITIVES.get(t, ("opaque", t))
    if t["type"] == "struct":
        out = ("struct", tuple((f["name"], model_type(f["type"])) for f in t["fields"]))
        parts = [f for _, f in out[1]]
    elif t["type"] == "list":
        out = ("array", model_type(t["element"]))
        parts = [out[1]]
    else:
        out = ("map", model_type(t["key"]), model_type(t["value"]))
        parts = list(out[1:])
    return ("opaque", json.dumps(t)) if any(p[0] == "opaque" for p in parts) else out


def strict_inside(t):
    """Whether something inside a nested type may not be NULL: such a column is not given random values."""
    if isinstance(t, str):
        return False
    if t["type"] == "struct":
        return any(f["required"] or strict_inside(f["type"]) for f in t["fields"])
    if t["type"] == "list":
        return t.get("element-required", False) or strict_inside(t["element"])
    return t.get("value-required", False) or strict_inside(t["value"])


def microseconds(text):
    text = text.replace("T", " ")
    if text.endswith("+00:00"):
        text = text[:-6]
    date, _, time = text.partition(" ")
    h, m, s = time.split(":")
    whole, _, fraction = s.partition(".")
    return days(date) * 86_400_000_000 + (int(h) * 3600 + int(m) * 60 + int(whole)) * 1_000_000 + int((fraction + "000000")[:6])


def integer(text):
    return text if text == "-0" else int(text)  # of a floating point column


def days(text):
    return (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days


def value_of(x, t):
    """A value of the recorded rows (README.md of the material)."""
    kind = t[0]
    if x is None:
        return None
    if kind in ("float", "double"):
        v = {"-0": -0.0, "NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(x, x) if isinstance(x, str) else float(x)
        return f32(v) if kind == "float" else v
    if kind == "decimal":
        return Decimal(x)
    if kind == "binary":
        return bytes.fromhex(x)
    if kind == "date":
        return days(x)
    if kind in ("timestamp", "timestamp_ntz"):
        return microseconds(x)
    if kind == "struct":
        return tuple(value_of(x.get(n), f) for n, f in t[1])
    if kind == "array":
        return [value_of(v, t[1]) for v in x]
    if kind == "map":
        return tuple((value_of(k, t[1]), value_of(v, t[2])) for k, v in x)
    return x


class Foreign:
    """Copies a table into the catalog of an engine and registers it; then its recorded rows are the model's rows."""

    is_setup = True

    def __init__(self, folder, name, properties=()):
        self.folder, self.name, self.properties = folder, name, dict(properties)
        with open(os.path.join(folder, "expect", name, "table.json"), encoding="utf-8") as f:
            self.table = json.load(f)
        self.fields, self.spec = [], []  # of Create; nothing of this one can be left out

    def sql(self, name):
        text = [f"-- {name} is a copy of the table {self.name}"]
        return text + [f"ALTER TABLE {name} SET TBLPROPERTIES ('{k}'='{v}')" for k, v in self.properties.items()]

    def shape(self, table):
        document = self.table
        for f in document["schema"]["fields"]:
            field = st.Field(f["id"], f["name"], model_type(f["type"]), f["required"])
            field.fixed = field.type[0] == "opaque" or strict_inside(f["type"])
            field.default = value_of(f["write-default"], field.type) if "write-default" in f else None
            if f["type"] == "binary" or isinstance(f["type"], str) and f["type"].startswith("fixed"):
                field.default = field.default.lower() if isinstance(field.default, str) else field.default
            field.unknown_default = "write-default" in f and isinstance(f["type"], dict)
            table.fields.append(field)
        table.next_id = document["last_column_id"] + 1
        table.version = document["format_version"]
        table.ids_known = False
        table.snapshots = len(document["snapshots"])
        table.sequence = document.get("last_sequence_number") or 0
        table.foreign = True
        for key, value in self.properties.items():
            st.set_property(table, key, value)

    def recorded(self, table):
        """The recorded rows, or None when there are too many of them to be recorded one by one."""
        current = self.table.get("current") or {}
        if not current.get("rows"):
            return []
        if "file" not in current:
            return None
        with open(os.path.join(self.folder, "expect", self.name, current["file"]), encoding="utf-8") as f:
            rows = [json.loads(line, parse_int=integer) for line in f]
        return [st.Row({f.id: value_of(r.get(f.name), f.type) for f in table.fields}) for r in rows]

    def first(self, table):
        """The first of many rows."""
        rows = [json.loads(line, parse_int=integer) for line in self.table["current"].get("first", [])]
        return [st.Row({f.id: value_of(r.get(f.name), f.type) for f in table.fields}) for r in rows]

    def install(self, engine, name):
        engine.ask(f"DROP TABLE IF EXISTS db.{name}")
        with open(os.path.join(self.folder, "tables.json"), encoding="utf-8") as f:
            place = next(t["metadata"] for t in json.load(f) if t["name"] == self.name)
        prefixes = {k: os.path.join(UNPACKED, v) for k, v in (self.table.get("path_map") or {}).items()}
        read_deletes = lambda path: [(p, n and int(n)) for p, n in engine.ask(f"SELECT file_path, pos FROM parquet.`{path}`")]
        copy = Copy(os.path.join(engine.folder, "warehouse", "db", name), prefixes, read_deletes)
        register(os.path.join(engine.folder, "catalog.db"), "db", name, copy.metadata(os.path.join(UNPACKED, place)))
        for text in self.sql(name)[1:]:
            engine.ask(text)


def rows_of_cells(table, rows):
    """Rows of a table that is too big for its rows to be recorded: what the engine reads (test_scan_tables compares that with the recorded hash)."""
    return [st.Row({f.id: c if c is None or f.type[0] == "opaque" else parse_cell(c, f.type) for f, c in zip(table.fields, r)}) for r in rows]
