#!/usr/bin/env python3
"""Writes variant_sources/{plain,shredded}.parquet with Spark 4.1 (PY_SPARK make_variant_sources.py)."""
import glob
import os
import shutil
import tempfile

from pyspark.sql import SparkSession

folder, work = os.path.join(os.path.dirname(os.path.abspath(__file__)), "variant_sources"), tempfile.mkdtemp()
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sql("""SELECT id, parse_json('{"a":' || id || ',"b":["x",1.5]}') v, named_struct('v', parse_json(CAST(id AS STRING))) s, array(parse_json('[1]')) l
             FROM range(3)""").coalesce(1).write.parquet(work + "/plain")
spark.conf.set("spark.sql.variant.writeShredding.enabled", "true")
spark.conf.set("spark.sql.variant.forceShreddingSchemaForTest", "a bigint, b array<string>")
spark.sql("""SELECT id, parse_json('{"a":' || id || ',"b":["x",1.5],"c":null}') v FROM range(3)""").coalesce(1).write.parquet(work + "/shredded")
for name in ("plain", "shredded"):
    shutil.copy(glob.glob(f"{work}/{name}/*.parquet")[0], f"{folder}/{name}.parquet")
shutil.rmtree(work)
