#!/usr/bin/env python3
"""One engine as a process: engine.py spark|pyiceberg|duckdb, run with that engine's Python.

One JSON request a line on stdin, one JSON answer a line on stdout. A request names the catalog (`db` SQLite file, `name`, `warehouse`):
  {"catalog": …, "read": "ns.table", "metadata": "…metadata.json"}   -> {"ok": true, "columns": […], "rows": [[text or null, …], …]}
  {"catalog": …, "sql": ["…", …]}                                    -> {"ok": true}                 (spark)
  {"catalog": …, "create": "ns.table", "arrow": {column: [type, values]}, "properties": {…}}         (pyiceberg)
Failures: {"ok": false, "message": "…"}.
"""
import json
import logging
import os
import sys

from cells import OTHER, cell

os.environ["TZ"] = "UTC"


class Spark:
    def __init__(self):
        from pyspark.sql import SparkSession
        self.base = (SparkSession.builder.master("local[1]").appName("interop").config("spark.ui.enabled", "false")
                     .config("spark.driver.memory", "1g").config("spark.sql.shuffle.partitions", "1")
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
        return ("float",) if n == "float" else OTHER

    def read(self, request):
        frame = self.session(request["catalog"]).table(quoted(request["catalog"]["name"] + "." + request["read"]))
        kinds = [self.kind(f.dataType) for f in frame.schema.fields]
        return [f.name for f in frame.schema.fields], [[cell(v, k) for v, k in zip(row, kinds)] for row in frame.collect()]

    def sql(self, request):
        s = self.session(request["catalog"])
        for statement in request["sql"]:
            s.sql(statement).collect()


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

    def create(self, request):
        import pyarrow as pa
        from pyiceberg.catalog.sql import SqlCatalog
        c = request["catalog"]
        catalog = SqlCatalog(c["name"], uri="sqlite:///" + c["db"], warehouse=c["warehouse"])
        catalog.create_namespace_if_not_exists(request["create"].split(".")[0])
        data = pa.table({n: pa.array(v).cast(t) for n, (t, v) in request["arrow"].items()})
        if catalog.table_exists(request["create"]):
            catalog.load_table(request["create"]).append(data)
        else:
            catalog.create_table(request["create"], schema=data.schema, properties=request.get("properties") or {}).append(data)


class DuckDB:
    def __init__(self):
        import duckdb
        self.connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "autoinstall_known_extensions": "false",
                                                 "autoload_known_extensions": "false"})
        for path in os.environ["FRAZIL_DUCKDB_EXTENSIONS"].split(":"):
            self.connection.execute(f"LOAD '{path}'")
        self.connection.execute("SET TimeZone='UTC'")

    def kind(self, t):
        if t.id in ("list", "array"):
            return ("list", self.kind(t.children[0][1]))
        if t.id == "struct":
            return ("struct", tuple((n, self.kind(c)) for n, c in t.children))
        if t.id == "map":
            children = dict(t.children)
            return ("map", self.kind(children["key"]), self.kind(children["value"]))
        return ("float",) if t.id == "float" else OTHER

    def read(self, request):
        path = request["metadata"].removeprefix("file://").removeprefix("file:").replace("'", "''")
        relation = self.connection.sql(f"SELECT * FROM iceberg_scan('{path}')")
        zoned = [n for n, t in zip(relation.columns, relation.types) if t.id == "timestamp with time zone"]
        if zoned:  # Python values with a zone would need pytz; the session is in UTC
            replaced = ", ".join('CAST("{0}" AS TIMESTAMP) AS "{0}"'.format(n.replace('"', '""')) for n in zoned)
            relation = self.connection.sql(f"SELECT * REPLACE ({replaced}) FROM iceberg_scan('{path}')")
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
                engine.sql(request)
            else:
                engine.create(request)
        except Exception as error:
            answer = {"ok": False, "message": f"{type(error).__name__}: {str(error)[:600]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
