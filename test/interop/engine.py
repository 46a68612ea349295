#!/usr/bin/env python3
"""One engine as a process: engine.py spark|pyiceberg|duckdb, run with that engine's Python.

One JSON request a line on stdin, one JSON answer a line on stdout. A request names the catalog (`db` SQLite file, `name`, `warehouse`):
  {"catalog": …, "read": "ns.table", "metadata": "…metadata.json"}   -> {"ok": true, "columns": […], "rows": [[text or null, …], …]}
  {"catalog": …, "sql": ["…", …]}                                    -> columns and rows of the last  (spark)
  {"catalog": …, "write": "ns.table", "what": base64 of a pickle}    -> {"ok": true}                 (pyiceberg, see PyIceberg.write)
  {"bounds": "…metadata.json"}                                       -> "problems": […], "files": n  (pyiceberg, see bounds.py)
Failures: {"ok": false, "message": "…"}.
"""
import base64
import datetime
import json
import logging
import os
import pickle
import sys
import types

from cells import OTHER, cell

os.environ["TZ"] = "UTC"


class Spark:
    def __init__(self):
        from pyspark.sql import SparkSession
        self.base = (SparkSession.builder.master("local[1]").appName("interop").config("spark.ui.enabled", "false")
                     .config("spark.driver.memory", "1g").config("spark.sql.shuffle.partitions", "1")
                     .config("spark.default.parallelism", "1").config("spark.sql.autoBroadcastJoinThreshold", "-1")
                     .config("spark.sql.session.timeZone", "UTC").config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
                     .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
                     .config("spark.sql.warehouse.dir", os.path.join(os.getcwd(), "spark")).config("spark.jars", os.environ["CONFORMANCE_JARS"]).getOrCreate())
        self.base.sparkContext.setLogLevel("OFF")

    def session(self, catalog):
        s, key = self.base.newSession(), "spark.sql.catalog." + catalog["name"]
        for k, v in ((key, "org.apache.iceberg.spark.SparkCatalog"), (key + ".type", "jdbc"), (key + ".uri", "jdbc:sqlite:" + catalog["db"]),
                     (key + ".jdbc.schema-version", "V1"), (key + ".warehouse", catalog["warehouse"]), ("spark.sql.defaultCatalog", catalog["name"])):
            s.conf.set(k, v)
        return s

    def kind(self, t):
        n = t.typeName()
        if n == "array":
            return ("list", self.kind(t.elementType))
        if n == "struct":
            return ("struct", tuple((f.name, self.kind(f.dataType)) for f in t.fields))
        if n == "map":
            return ("map", self.kind(t.keyType), self.kind(t.valueType))
        if n == "decimal":
            return ("decimal", t.precision, t.scale)
        return (n,) if n in ("float", "variant") else OTHER

    def rows_of(self, frame):
        kinds = [self.kind(f.dataType) for f in frame.schema.fields]
        return [f.name for f in frame.schema.fields], [[cell(v, k) for v, k in zip(row, kinds)] for row in frame.collect()]

    def read(self, request):
        return self.rows_of(self.session(request["catalog"]).table(quoted(request["catalog"]["name"] + "." + request["read"])))

    def sql(self, request):
        s, answer = self.session(request["catalog"]), ([], [])
        for statement in request["sql"]:
            answer = self.rows_of(s.sql(statement))
        return answer


class PyIceberg:
    def kind(self, t):
        import pyarrow.types as at
        if at.is_list(t) or at.is_large_list(t):
            return ("list", self.kind(t.value_type))
        if at.is_struct(t):
            return ("struct", tuple((t.field(i).name, self.kind(t.field(i).type)) for i in range(t.num_fields)))
        if at.is_map(t):
            return ("map", self.kind(t.key_type), self.kind(t.item_type))
        return ("float",) if at.is_float32(t) else OTHER

    def read(self, request):
        from pyiceberg.table import StaticTable
        table = StaticTable.from_metadata(request["metadata"]).scan().to_arrow()
        kinds = [self.kind(f.type) for f in table.schema]
        columns = [c.to_pylist() for c in table.columns]
        return table.schema.names, [[cell(v, k) for v, k in zip(row, kinds)] for row in zip(*columns)]

    def arrow(self, t):
        import pyarrow as pa
        if t[0] == "list":
            return pa.list_(self.arrow(t[1]))
        if t[0] == "map":
            return pa.map_(self.arrow(t[1]), self.arrow(t[2]))
        if t[0] == "struct":
            return pa.struct([(n, self.arrow(x)) for n, x in t[1]])
        if t[0] == "decimal":
            return pa.decimal128(t[1], t[2])
        return {"boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64(), "date": pa.date32(),
                "time": pa.time64("us"), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"), "string": pa.string(),
                "binary": pa.binary(), "fixed": pa.binary(t[-1] if t[0] == "fixed" else 1), "uuid": pa.uuid()}[t[0]]

    def write(self, request):
        """The pickle is a dict: columns [(name, type)] and rows [[value]] to append, partition [(column, transform)], properties; or `delete`, a row
        filter. A table that is not there is made first."""
        import pyarrow as pa
        from pyiceberg.catalog.sql import SqlCatalog
        c, what = request["catalog"], pickle.loads(base64.b64decode(request["what"]))
        catalog = SqlCatalog(c["name"], uri="sqlite:///" + c["db"], warehouse=c["warehouse"])
        catalog.create_namespace_if_not_exists(request["write"].split(".")[0])
        if what.get("delete"):
            catalog.load_table(request["write"]).delete(what["delete"])
            return
        arrays = []
        for i, (_, t) in enumerate(what["columns"]):
            values = [row[i].bytes if t[0] == "uuid" and row[i] is not None else row[i] for row in what["rows"]]
            arrays.append(pa.array(values, self.arrow(t)))
        data = pa.table(arrays, names=[n for n, _ in what["columns"]])
        if not catalog.table_exists(request["write"]):
            table = catalog.create_table(request["write"], schema=data.schema, properties=what.get("properties") or {})
            if what.get("partition"):
                with table.update_spec() as update:
                    for column, transform in what["partition"]:
                        update.add_field(column, transform)
        catalog.load_table(request["write"]).append(data)

    def bounds(self, request):
        from bounds import check
        return check(request["bounds"])


class Utc(datetime.tzinfo):
    """UTC with the methods of pytz, which DuckDB wants for values with a zone; here all are UTC."""

    def utcoffset(self, dt):
        return datetime.timedelta(0)

    dst = utcoffset

    def tzname(self, dt):
        return "UTC"

    def localize(self, dt):
        return dt.replace(tzinfo=datetime.timezone.utc)


class DuckDB:
    def __init__(self):
        import duckdb
        zones = types.ModuleType("pytz")
        zones.utc, zones.timezone = Utc(), lambda name: Utc()
        sys.modules.setdefault("pytz", zones)
        self.connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "autoinstall_known_extensions": "false",
                                                 "autoload_known_extensions": "false"})
        for path in os.environ["FRAZIL_DUCKDB_EXTENSIONS"].split(":"):
            self.connection.execute(f"LOAD '{path}'")
        self.connection.execute("SET TimeZone='UTC'")
        self.connection.execute("SET enable_external_file_cache=false")  # wrong bytes of Puffin files, see scenarios.py

    def kind(self, t):
        if t.id in ("list", "array"):
            return ("list", self.kind(t.children[0][1]))
        if t.id == "struct":
            return ("struct", tuple((n, self.kind(c)) for n, c in t.children))
        if t.id == "map":
            children = dict(t.children)
            return ("map", self.kind(children["key"]), self.kind(children["value"]))
        return (t.id,) if t.id in ("float", "variant") else OTHER

    def read(self, request):
        path = request["metadata"].removeprefix("file://").removeprefix("file:").replace("'", "''")
        relation = self.connection.sql(f"SELECT * FROM iceberg_scan('{path}')")
        kinds = [self.kind(t) for t in relation.types]
        return relation.columns, [[cell(v, k) for v, k in zip(row, kinds)] for row in relation.fetchall()]


def quoted(name):
    return ".".join("`" + part.replace("`", "``") + "`" for part in name.split("."))


def main():
    logging.disable(logging.CRITICAL)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever an engine prints is no answer
    engine = {"spark": Spark, "pyiceberg": PyIceberg, "duckdb": DuckDB}[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": True}
            if "read" in request:
                answer["columns"], answer["rows"] = engine.read(request)
            elif "sql" in request:
                answer["columns"], answer["rows"] = engine.sql(request)
            elif "bounds" in request:
                answer["problems"], answer["files"] = engine.bounds(request)
            else:
                engine.write(request)
        except Exception as error:
            answer = {"ok": False, "message": f"{type(error).__name__}: {str(error)[:600]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
