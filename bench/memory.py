"""CASE memory: large MERGEs into ten million rows within a budget. Called by run.py."""
import os, re, subprocess, time
import big

CASES = [("merge 10 %", "mor", "10", 512), ("merge 50 %", "mor", "50", 512), ("merge 10 %", "cow", "10", 512), ("merge 50 %", "cow", "50", 512),
         ("merge 50 %", "mor", "50", 256), ("merge 50 %", "cow", "50", 256)]
SLACK = 1.05 # a peak above the budget by more is a failure

def merge(table, data, kind, budget):
    """seconds outside the process, peak MB, megabytes the engine spilled at most"""
    spill = table.work + "/spill"
    os.makedirs(spill, exist_ok=True)
    start, spilled = time.perf_counter(), 0
    p = subprocess.Popen([table.frazil, "sql", "--memory", budget, "-e", big.merge_sql(f"parquet.`{data}/changes_{kind}.parquet`")],
                         cwd=table.work, env={**os.environ, "TMPDIR": spill}, stderr=subprocess.PIPE, text=True)
    while not usage_of(p):
        spilled = max(spilled, sum(size(f"{folder}/{f}") for folder, _, files in os.walk(spill) for f in files))
        time.sleep(0.05)
    if p.returncode != 0: raise RuntimeError(p.stderr.read()[-500:])
    return time.perf_counter() - start, p.usage.ru_maxrss // 1024, spilled >> 20

def size(path):
    try: return os.stat(path).st_size
    except FileNotFoundError: return 0

def usage_of(p):
    """Reaps the process when it has ended, for its peak memory."""
    pid, status, usage = os.wait4(p.pid, os.WNOHANG)
    if pid: p.returncode, p.usage = os.waitstatus_to_exitcode(status), usage
    return pid != 0

def run(frazil, root, rounds):
    python, data = os.environ["PY_PEERS"], big.d10m(root)
    table = big.Table(frazil, f"{root}/build/bench/table", data)
    passed = failed = 0
    print(f"\n10,000,000 rows on 30 days (300 MB); best of {rounds} rounds")
    print(f"{'case':12} {'mode':4} {'budget MB':>9} {'seconds':>8} {'peak MB':>8} {'spilled MB':>10}")
    for name, mode, kind, budget in CASES:
        wanted = big.expected(python, data, kind)
        rounds_of = []
        for _ in range(rounds):
            table.reset()
            table.run(f"ALTER TABLE db.t SET TBLPROPERTIES ('write.merge.mode'='{big.MODES[mode]}')")
            rounds_of.append(merge(table, data, kind, f"{budget}MB"))
        got = table.run(big.CHECK)[0].split()
        seconds, peak, spilled = min(rounds_of)
        right, fits = big.same(got, wanted), max(r[1] for r in rounds_of) <= budget * SLACK
        ok = right and fits
        passed += ok; failed += not ok
        print(f"{name:12} {mode:4} {budget:9} {seconds:8.2f} {peak:8} {spilled:10}{'' if right else f'  WRONG: {got}, not {wanted}'}{'' if fits else '  OVER THE BUDGET'}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0
