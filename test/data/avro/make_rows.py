#!/usr/bin/env python3
"""Writes rows.avro with Polars (PY_PEERS make_rows.py)."""
import datetime
import os

import polars as pl

pl.DataFrame({"id": [1, 2, 3], "name": ["one", None, "a\ttab"], "x": [0.5, -1.25, None], "ok": [True, False, None],
              "day": [datetime.date(2024, 2, 29), None, datetime.date(1950, 1, 1)], "tags": [["a", "b"], [], None],
              "s": [{"n": 1, "t": "q"}, {"n": None, "t": ""}, {"n": 3, "t": None}]}).write_avro(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "rows.avro"))
