#!/usr/bin/env python3
"""Records what bytes Spark makes of variants: variant_bytes.tsv (expression, metadata, value). Needs pyspark 4.1: PY_SPARK make_variant_bytes.py"""
import os
from pyspark.sql import SparkSession

EXPRESSIONS = r"""
parse_json('{"b":1,"a":[1.5,"x"],"c":{"b":300,"d":null}}')
parse_json('{}')
parse_json('[]')
parse_json('null')
parse_json('[true,false,null]')
parse_json('""')
parse_json('"é"')
parse_json('"' || repeat('x', 63) || '"')
parse_json('"' || repeat('x', 64) || '"')
parse_json('127')
parse_json('-129')
parse_json('32768')
parse_json('-2147483649')
parse_json('9223372036854775808')
parse_json('1.50')
parse_json('-0.0')
parse_json('0.0000000001')
parse_json('12345678901.5')
parse_json('123456789012345678901')
parse_json('1e3')
parse_json('{"' || repeat('k', 300) || '":1,"a":2}')
parse_json('["' || repeat('v', 300) || '",{"a":"' || repeat('w', 300) || '"}]')
parse_json('[' || array_join(sequence(1, 300), ',') || ']')
parse_json('{"a":{"z":1,"y":2},"y":{"a":3},"":4}')
parse_json(to_json(map_from_entries(transform(sequence(1, 300), x -> struct('key' || x, x)))))
CAST(1 AS VARIANT)
CAST(70000L AS VARIANT)
CAST(1.50 AS VARIANT)
CAST(CAST(1 AS DECIMAL(20,5)) AS VARIANT)
CAST(CAST(1 AS DECIMAL(38,15)) AS VARIANT)
CAST(1.5F AS VARIANT)
CAST(1.5D AS VARIANT)
CAST('x' AS VARIANT)
CAST(false AS VARIANT)
CAST(DATE '2020-01-01' AS VARIANT)
CAST(TIMESTAMP '2020-01-01 00:00:00.5' AS VARIANT)
CAST(TIMESTAMP_NTZ '1960-01-01 00:00:00.5' AS VARIANT)
CAST(X'0102' AS VARIANT)
CAST(array(1, NULL, 3) AS VARIANT)
to_variant_object(named_struct('b', 1, 'a', 'x'))
to_variant_object(map('z', 1, 'a', 2))
to_variant_object(named_struct('v', parse_json('{"z":1,"b":2}'), 'z', 1))
variant_get(parse_json('{"b":1,"a":[1.5,"x"],"c":{"b":300,"d":null}}'), '$.c')
variant_get(parse_json('{"b":1,"a":[1.50,{"q":"x"}]}'), '$.a[1]')
from_json('{"v":{"a":[1.50]}}', 'v variant').v
""".strip().split("\n")

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC").getOrCreate()
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "variant_bytes.tsv"), "w", encoding="utf-8") as out:
    for e in EXPRESSIONS:
        v = spark.sql("SELECT " + e).collect()[0][0]
        value, metadata = (getattr(v, n, None) or getattr(v, "_" + n) for n in ("value", "metadata"))
        out.write(f"{e}\t{metadata.hex()}\t{value.hex()}\n")
