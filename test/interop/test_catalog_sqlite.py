#!/usr/bin/env python3
"""frazil and PyIceberg share one SQLite catalog file: each sees, reads and changes what the other made.

usage: test_catalog_sqlite.py FRAZIL     FRAZIL is the built program; needs pyiceberg and pyarrow
"""
import csv, io, os, subprocess, sys, tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        db, warehouse = os.path.join(folder, "c.db"), os.path.join(folder, "wh")
        key = "spark.sql.catalog.ice"
        conf = {key: "org.apache.iceberg.spark.SparkCatalog", key + ".type": "jdbc", key + ".uri": "jdbc:sqlite:" + db, key + ".warehouse": warehouse,
                key + ".jdbc.schema-version": "V1", "spark.sql.defaultCatalog": "ice"}

        def sql(statement):
            command = [program, "sql", "--format", "csv", "-e", statement]
            for name, value in conf.items():
                command += ["--conf", f"{name}={value}"]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            assert done.returncode == 0, (statement, done.stderr)
            return [tuple(row) for row in csv.reader(io.StringIO(done.stdout))][1:]

        def peer():  # a fresh one: nothing cached
            return SqlCatalog("ice", uri="sqlite:///" + db, warehouse="file://" + warehouse)

        # ours, then theirs on top
        sql("CREATE NAMESPACE db")
        sql("CREATE TABLE db.ours (id BIGINT NOT NULL, v DECIMAL(9,2)) USING iceberg PARTITIONED BY (bucket(4, id)) TBLPROPERTIES ('hello'='world')")
        assert peer().list_namespaces() == [("db",)] and peer().list_tables("db") == [("db", "ours")]
        table = peer().load_table("db.ours")
        assert table.properties["hello"] == "world"
        assert str(table.schema().find_field("v").field_type) == "decimal(9, 2)" and table.schema().find_field("id").required
        assert [str(f.transform) for f in table.spec().fields] == ["bucket[4]"]
        with table.transaction() as change:
            change.set_properties({"py": "was here"})
        assert ("py", "was here") in sql("SHOW TBLPROPERTIES db.ours")
        # and ours on top of that: a commit of ours goes on from theirs
        sql("ALTER TABLE db.ours SET TBLPROPERTIES ('third'='ours')")
        properties = peer().load_table("db.ours").properties
        assert properties["py"] == "was here" and properties["third"] == "ours"
        assert len(peer().load_table("db.ours").metadata.metadata_log) == 2
        # theirs, then ours on top
        peer().create_namespace("pyns", {"k": "v"})
        rows = pa.table({"id": pa.array([1, 2], pa.int64()), "s": pa.array(["a", "b"])})
        theirs = peer().create_table("pyns.theirs", rows.schema)
        theirs.append(rows)
        assert sql("SHOW NAMESPACES") == [("db",), ("pyns",)]
        assert sql("SELECT * FROM pyns.theirs ORDER BY id") == [("1", "a"), ("2", "b")]
        sql("INSERT INTO pyns.theirs VALUES (3, 'c')")
        assert sorted(peer().load_table("pyns.theirs").scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
        # names move and go
        sql("ALTER TABLE pyns.theirs RENAME TO db.moved")
        assert peer().load_table("db.moved").scan().to_arrow().num_rows == 3
        peer().drop_table("db.moved")
        sql("DROP NAMESPACE pyns")
        assert peer().list_namespaces() == [("db",)]
        sql("DROP TABLE db.ours")
        try:
            peer().load_table("db.ours")
            raise AssertionError("db.ours is still there")
        except NoSuchTableError:
            pass
    print("catalog file shared with PyIceberg: ok")


if __name__ == "__main__":
    main(sys.argv[1])
