#!/usr/bin/env python3
"""Kills frazil with SIGKILL at every fail point and looks at what is left: the old or the new snapshot, nothing between; a second run
completes; nothing is lost or doubled.

usage: run_fault.py --frazil build/test/frazil [--long]      (a build with FZ_FAIL_POINTS)
"""
import argparse, json, os, re, shutil, signal, subprocess, sys, tempfile

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--frazil", required=True); p.add_argument("--long", action="store_true"); a = p.parse_args()
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))); frazil = os.path.abspath(a.frazil)
points = re.findall(r'FZ_FAIL_POINT_DEF\("([^"]+)"', open(f"{root}/src/base/fail_points.def").read())
passed = failed = 0

def run(work, *args, point=None):
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    if point: env["FRAZIL_FAIL_POINT"] = point
    return subprocess.run([frazil, *args], cwd=work, capture_output=True, text=True, env=env, timeout=300)

def rows(work, sql):
    r = run(work, "sql", "-S", "--format", "tsv", "--no-header", "-e", sql)
    if r.returncode: raise RuntimeError(r.stderr[-800:])
    return [tuple(x.split("\t")) for x in r.stdout.splitlines()]

def result(name, ok, text=""):
    global passed, failed
    passed += ok; failed += not ok
    if not ok: print(f"FAILED {name}: {text}", flush=True)

def die_at(name, work, point, *args):
    r = run(work, *args, point=point)
    if r.returncode != -signal.SIGKILL:
        result(name, False, f"did not reach the fail point: exit {r.returncode} {r.stderr[-500:]}")
        return False
    return True

SETUP = """CREATE TABLE db.t (id BIGINT, v STRING, day DATE) USING iceberg PARTITIONED BY (day)
TBLPROPERTIES ('format-version'='{fv}', 'write.merge.mode'='{mode}');
INSERT INTO db.t SELECT id, 'old', DATE '2026-01-01' + CAST(id % 3 AS INT) FROM range(0, 300)"""
MERGE = """MERGE INTO db.t t USING (SELECT id * 2 AS id FROM range(0, 200)) s ON t.id = s.id
WHEN MATCHED AND t.id % 10 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'new' WHEN NOT MATCHED THEN INSERT (id, v, day) VALUES (s.id, 'added', DATE '2026-01-09')"""
OLD = sorted((str(i), "old") for i in range(300))
NEW = sorted([(str(i), "new" if i % 2 == 0 else "old") for i in range(300) if i % 10 != 0] + [(str(i), "added") for i in range(300, 400, 2)])

def merge_case(mode, fv, point):
    name = f"merge {mode} v{fv} killed at {point}"
    with tempfile.TemporaryDirectory(prefix="frazil-fault-") as work:
        r = run(work, "sql", "-S", "-e", SETUP.format(mode=mode, fv=fv))
        if r.returncode: return result(name, False, r.stderr[-800:])
        if not die_at(name, work, point, "sql", "-S", "-e", MERGE): return
        try:
            state = sorted(rows(work, "SELECT id, v FROM db.t")); swapped = point == "commit.swapped"
            if state != (NEW if swapped else OLD):
                return result(name, False, f"{len(state)} rows are visible, neither the old nor the new snapshot")
            again = run(work, "sql", "-S", "-e", MERGE)
            if again.returncode: return result(name, False, f"second run: {again.stderr[-800:]}")
            # After a swap the second MERGE runs on the new state: deleted keys are inserted again, as SQL says.
            want = NEW if not swapped else sorted(NEW + [(str(i), "added") for i in range(0, 300, 10)])
            want = sorted((k, "new") if swapped and v == "added" and int(k) >= 300 and int(k) % 10 else (k, v) for k, v in want)
            if swapped: want = [x for x in want if not (int(x[0]) >= 300 and int(x[0]) % 10 == 0)]
            got = sorted(rows(work, "SELECT id, v FROM db.t"))
            result(name, got == want, f"after the second run {len(got)} rows, expected {len(want)}: {sorted(set(got) ^ set(want))[:5]}")
        except RuntimeError as e:
            result(name, False, str(e))

ORDERS = f"{root}/examples/orders"
def pipeline_case(mode, point, batches):
    name = f"pipeline {mode} killed at {point}"
    with tempfile.TemporaryDirectory(prefix="frazil-fault-") as work:
        text = open(f"{ORDERS}/orders.yaml").read().replace("examples/orders/events.jsonl.gz", f"{ORDERS}/events.jsonl.gz").replace("merge-on-read", mode)
        open(f"{work}/p.yaml", "w").write(text + f"commit: {{or_rows: {batches}}}\n")
        if not die_at(name, work, point, "run", "p.yaml", "--once"): return
        r = run(work, "run", "p.yaml", "--once")
        if r.returncode: return result(name, False, f"second run: {r.stderr[-800:]}")
        c = subprocess.run([sys.executable, f"{ORDERS}/compare.py", frazil, "local.shop.orders", f"{ORDERS}/final.csv"], cwd=work, capture_output=True, text=True)
        result(name, c.returncode == 0, c.stdout + c.stderr[-500:])

for point in points:
    if not point.startswith("cdc."):
        cases = [("merge-on-read", 2), ("copy-on-write", 2), ("merge-on-read", 3)] + ([("copy-on-write", 3)] if a.long else [])
        for mode, fv in cases: merge_case(mode, fv, point)
    # The n-th time, so that some commits are done already.
    for nth in ([1, 3] if point.startswith("cdc.") or a.long else [3]):
        pipeline_case("merge-on-read", f"{point}:{nth}", 6000)
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(1 if failed else 0)
