#!/usr/bin/env python3
"""Real Spark + Iceberg reads tables that frazil wrote: run_model.py --spark starts this with PY_SPARK's python.

Standard input: JSON, a list of {"folder", "table", "columns", "rows"}; prints a line `spark: …` for each table that reads otherwise.
"""
import argparse
import collections
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "conformance"))
import run_spark as rs  # noqa: E402


def main():
    jobs = json.load(sys.stdin)
    work = tempfile.mkdtemp(prefix="model_spark_")
    args = argparse.Namespace(jobs=1, memory="3g", work=work, jars=os.environ.get("CONFORMANCE_JARS", ""), conf=[], shared_catalog=False,
                              classes_only=False, catalog_conf=[])
    base = rs.session(args)
    sessions = {}  # one a folder: the catalog's name is part of its rows, so it is `ice` in each
    for job in jobs:
        if job["folder"] not in sessions:
            session = sessions[job["folder"]] = base.newSession()
            key = "spark.sql.catalog.ice"
            for k, v in ((key, "org.apache.iceberg.spark.SparkCatalog"), (f"{key}.type", "jdbc"), (f"{key}.uri", f"jdbc:sqlite:{job['folder']}/catalog.db"),
                         (f"{key}.warehouse", f"{job['folder']}/warehouse"), (f"{key}.jdbc.schema-version", "V1")):
                session.conf.set(k, v)
        spark, where = sessions[job["folder"]], f"ice.db.{job['table']}"
        try:
            frame = spark.sql(f"SELECT {', '.join(job['columns'])} FROM {where}")
            fields = frame.schema.fields
            got = collections.Counter(repr(tuple(cell(v, f.dataType) for v, f in zip(r, fields))) for r in frame.collect())
        except Exception as error:
            print(f"spark: {job['table']}: {str(error)[:600]}".replace("\n", " "), flush=True)
            continue
        wanted = collections.Counter(job["rows"])
        if got != wanted:
            missing, extra = list((wanted - got).items())[:3], list((got - wanted).items())[:3]
            print(f"spark: {job['table']}: rows differ: missing {missing}, too many {extra}", flush=True)


def cell(value, type_):
    """As the protocol has it: without the escapes of a result line."""
    if value is None:
        return None
    if type_.typeName() == "decimal":
        return f"{value:.{type_.scale}f}"
    text = rs.fmt_cell(value, type_)
    if text == "(empty)":
        return ""
    out, i = [], 0
    if text in ("\\NULL", "\\(empty)"):
        return text[1:]
    while i < len(text):
        if text[i] == "\\" and i + 1 < len(text):
            out.append({"\\": "\\", "p": "|", "n": "\n", "r": "\r", "t": "\t"}[text[i + 1]])
            i += 2
        else:
            out.append(text[i])
            i += 1
    return "".join(out)


if __name__ == "__main__":
    main()
