#!/usr/bin/env python3
"""Compares a table that frazil wrote with the captured final state: all rows, all columns, by value.

usage: compare.py FRAZIL TABLE FINAL_CSV      exit 1 and the first differences when they are not the same
"""
import csv, io, subprocess, sys
from datetime import date, datetime, timezone
from decimal import Decimal

frazil, table, final = sys.argv[1:4]
COLUMNS = [("order_id", int), ("customer_id", int), ("status", str), ("amount", Decimal), ("event_date", date.fromisoformat), ("updated_at", None)]

def moment(text):  # "2026-04-11 05:38:59.331341+00" (PostgreSQL), "2026-04-11 05:38:59.331341" (frazil, UTC)
    text = text.removesuffix("+00")
    base, _, fraction = text.partition(".")
    return datetime.strptime(base, "%Y-%m-%d %H:%M:%S").replace(microsecond=int(fraction.ljust(6, "0") or 0), tzinfo=timezone.utc)

def rows(text):
    out = {}
    for r in csv.DictReader(io.StringIO(text)):
        row = tuple(None if r[c] == "" else (cast or moment)(r[c]) for c, cast in COLUMNS)
        assert row[0] not in out, f"key {row[0]} is there twice"
        out[row[0]] = row
    return out

sql = f"SELECT {', '.join(c for c, _ in COLUMNS)} FROM {table}"
got = rows(subprocess.run([frazil, "sql", "-S", "--format", "csv", "-e", sql], capture_output=True, text=True, check=True).stdout)
want = rows(open(final, newline="").read())
wrong = [k for k in want.keys() | got.keys() if want.get(k) != got.get(k)]
for k in sorted(wrong)[:5]:
    print(f"  key {k}: table has {got.get(k)}, final state is {want.get(k)}")
print(f"  {len(want)} rows x {len(COLUMNS)} columns of the captured final state: " + ("all equal" if not wrong else f"{len(wrong)} rows differ"))
sys.exit(1 if wrong else 0)
