#!/usr/bin/env python3
"""Benchmarks: frazil beside its peers on the same work, interleaved, medians of one run.

usage: run.py [--frazil build/frazil] [--rounds N] [--peers spark,sail,duckdb] CASE

CASE 2      the lesson's size: 200,000 rows on 30 days, 2,000 changes, merge-on-read and copy-on-write. "merge" is the statement inside the
            process, "whole" the process from exec to exit (peers: start + merge).
CASE big    ten million rows: 1 % and 0.01 % in both modes, clustered, one column, 20 micro-batches, bloom filters on uuid keys, peak memory.
            `--peers ""` leaves the peers out.
CASE memory MERGE of 10 % and 50 % into ten million rows with --memory 512MB: time, peak memory, bytes spilled, and the rows.
CASE parquet  one file of ten million rows on one and two threads beside PyArrow and DuckDB: full scan, two columns, one row by key, write; and what a
            clustered and a one-column UPDATE cost beside a copy of the file and DuckDB's COPY.
CASE start  `frazil sql -e "SELECT 1"` as a whole process.
Every engine's result is checked: rows, sum(amount), sum(customer_id), changed notes must agree.
"""
import argparse, json, os, re, shutil, statistics, subprocess, sys, tempfile, time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--frazil", default="build/frazil"); p.add_argument("--rounds", type=int, default=3)
p.add_argument("--peers", default="spark,sail,duckdb"); p.add_argument("case", choices=["2", "start", "big", "memory", "parquet"])
a = p.parse_args()
here = os.path.dirname(os.path.abspath(__file__)); root = os.path.dirname(here); frazil = os.path.abspath(a.frazil)
peers = [x for x in a.peers.split(",") if x]
COLS = ["order_id", "customer_id", "status", "amount", "event_date", "updated_at", "note"]

def oracles(*names):
    out = subprocess.run([f"{root}/tools/services/oracles.sh", *names], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in out.splitlines():
        for key, value in re.findall(r"(\w+)=(\S+)", line.removeprefix("export ")):
            os.environ[key] = value

def seconds(fn):
    t0 = time.perf_counter(); r = fn(); return time.perf_counter() - t0, r

def median(xs): return statistics.median(xs) if xs else None

def start():
    times = []
    for _ in range(41):
        t, r = seconds(lambda: subprocess.run([frazil, "sql", "-S", "-e", "SELECT 1"], capture_output=True, cwd=tempfile.gettempdir()))
        assert r.returncode == 0, r.stderr
        times.append(t)
    times = times[1:]
    print(f"frazil sql -e \"SELECT 1\": median {1000 * median(times):.1f} ms, best {1000 * min(times):.1f} ms of {len(times)} (aim: below 40 ms)")
    print(f"{int(median(times) < 0.04)} passed, {int(median(times) >= 0.04)} failed, 0 skipped")

def frazil_case(data, mode):
    work = tempfile.mkdtemp(prefix="frazil-bench-"); name = {"cow": "copy-on-write", "mor": "merge-on-read"}[mode]
    run = lambda sql, fmt="tsv": subprocess.run([frazil, "sql", "--format", fmt, "--no-header", "-e", sql], cwd=work, capture_output=True, text=True)
    base = f"""CREATE TABLE db.t (order_id bigint, customer_id bigint, status string, amount decimal(12,2), event_date date, updated_at timestamp_ntz, note string)
USING iceberg PARTITIONED BY (event_date) TBLPROPERTIES ('format-version'='2','write.merge.mode'='{name}');
INSERT INTO db.t SELECT {', '.join(COLS)} FROM parquet.`{data}/base.parquet`"""
    r = run(base); assert r.returncode == 0, r.stderr
    merge = f"""MERGE INTO db.t t USING parquet.`{data}/changes_1.parquet` s ON t.order_id = s.order_id
WHEN MATCHED AND s.op = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET {', '.join(f'{c} = s.{c}' for c in COLS if c != 'order_id')}
WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT ({', '.join(COLS)}) VALUES ({', '.join('s.' + c for c in COLS)})"""
    whole, r = seconds(lambda: run(merge)); assert r.returncode == 0, r.stderr
    inside = float(re.search(r"· ([0-9.]+) s", r.stderr).group(1))
    check = run("SELECT count(*), cast(sum(amount) as string), sum(customer_id), sum(case when note like 'note %' then 0 else 1 end) FROM db.t").stdout.split()
    shutil.rmtree(work)
    return {"merge": inside, "whole": whole, "check": check}

def peer_case(engine, data, mode):
    work = tempfile.mkdtemp(prefix="frazil-bench-"); py = {"spark": "PY_SPARK", "sail": "PY_SAIL", "duckdb": "PY_DUCKICE"}[engine]
    r = subprocess.run([os.environ[py], f"{here}/peer.py", engine, "--data", data, "--work", work + "/w", "--mode", mode, "--pct", "1"], capture_output=True, text=True)
    shutil.rmtree(work, ignore_errors=True)
    lines = [x for x in r.stdout.splitlines() if x.startswith("{")]
    if not lines:
        print(f"{engine} {mode}: did not run: {(r.stderr or r.stdout)[-300:]}", file=sys.stderr); return None
    o = json.loads(lines[-1])
    return {"merge": o["merge_s"][0], "whole": o["start_s"] + o["merge_s"][0], "check": o["check"]}

def case_two():
    wanted = [x for x in peers if x in ("spark", "sail")] + ["peers"] + (["duckice"] if "duckdb" in peers else [])
    oracles(*wanted)
    data = f"{root}/build/bench/d200k"
    if not os.path.exists(f"{data}/changes_1.parquet"):
        subprocess.run([os.environ["PY_PEERS"], f"{here}/gen.py", data, "--rows", "200000"], check=True, stdout=subprocess.DEVNULL)
    if "duckdb" in peers:
        subprocess.run([f"{root}/tools/services/rest-catalog.sh", "start"], check=True, stdout=subprocess.DEVNULL)
        os.environ["FRAZIL_DUCKDB_ATTACH"] = "ATTACH '' AS ice (TYPE iceberg, ENDPOINT 'http://127.0.0.1:9720', AUTHORIZATION_TYPE 'none')"
    cases = [("frazil", m) for m in ("mor", "cow")] + [(e, m) for e in peers for m in ("mor", "cow") if not (e == "duckdb" and m == "cow")]
    got = {c: [] for c in cases}
    try:
        for _ in range(a.rounds):
            for engine, mode in cases:
                r = frazil_case(data, mode) if engine == "frazil" else peer_case(engine, data, mode)
                if r: got[engine, mode].append(r)
    finally:
        if "duckdb" in peers: subprocess.run([f"{root}/tools/services/rest-catalog.sh", "stop"], stdout=subprocess.DEVNULL)
    passed = failed = skipped = 0
    print(f"\n200,000 rows on 30 days, 2,000 changes; medians of {a.rounds} interleaved rounds, seconds")
    print(f"{'engine':8} {'mode':4} {'merge':>8} {'whole':>8}   merge and whole against frazil")
    for mode in ("mor", "cow"):
        mine = got["frazil", mode]; fm, fw = median([r["merge"] for r in mine]), median([r["whole"] for r in mine]); check = mine[0]["check"]
        for engine in ["frazil"] + peers:
            rs = got.get((engine, mode)) or []
            if not rs:
                skipped += engine != "duckdb" or mode == "mor"; continue
            m, w = median([r["merge"] for r in rs]), median([r["whole"] for r in rs])
            same = all([str(float(x)) for x in r["check"] if x] == [str(float(x)) for x in check if x] for r in rs)
            print(f"{engine:8} {mode:4} {m:8.3f} {w:8.3f}   {m / fm:6.1f}x {w / fw:6.1f}x{'' if same else '   DIFFERENT RESULT ' + str(rs[0]['check'])}")
            passed += same; failed += not same
            if engine == "spark": print(f"         aim: merge at least 20x faster than Spark: {'met' if m / fm >= 20 else 'NOT MET'}")
            if engine == "sail": print(f"         aim: whole process below Sail's: {'met' if fw < w else 'NOT MET'}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)

def case_big():
    import big
    oracles(*([x for x in peers if x in ("spark", "sail")] + ["peers"] + (["duckice"] if "duckdb" in peers else [])))
    if "duckdb" in peers:
        subprocess.run([f"{root}/tools/services/rest-catalog.sh", "start"], check=True, stdout=subprocess.DEVNULL)
        os.environ["FRAZIL_DUCKDB_ATTACH"] = "ATTACH '' AS ice (TYPE iceberg, ENDPOINT 'http://127.0.0.1:9720', AUTHORIZATION_TYPE 'none')"
    try:
        sys.exit(big.run(frazil, root, here, a.rounds, peers))
    finally:
        if "duckdb" in peers: subprocess.run([f"{root}/tools/services/rest-catalog.sh", "stop"], stdout=subprocess.DEVNULL)

def case_memory():
    import memory
    oracles("peers")
    sys.exit(memory.run(frazil, root, min(a.rounds, 2)))

def case_parquet():
    import parquet
    oracles("peers")
    sys.exit(parquet.run(frazil, root, here, a.rounds, peers))

{"start": start, "2": case_two, "big": case_big, "memory": case_memory, "parquet": case_parquet}[a.case]()
