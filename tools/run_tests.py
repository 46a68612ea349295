#!/usr/bin/env python3
"""Runs the test suites over build/test and prints their closing lines, and one over all of them last.

usage: run_tests.py [--jobs N] [--long]

Suites: unit and contract tests (cmocka programs; also the corpora and 2,000 mutations of test/fuzz/replay.c), conformance (test/conformance), tables (test/model/run_tables.py), model (test/model), converge (test/cdc), cli (test/cli), fault (test/fault).
"""
import argparse, concurrent.futures, glob, os, re, subprocess, sys, time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--jobs", type=int, default=os.cpu_count()); p.add_argument("--long", action="store_true")
a = p.parse_args()
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
env = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:abort_on_error=0", UBSAN_OPTIONS="print_stacktrace=1")
total = [0, 0, 0]

def closing(name, passed, failed, skipped, seconds):
    for i, n in enumerate((passed, failed, skipped)):
        total[i] += n
    print(f"{name}: {passed} passed, {failed} failed, {skipped} skipped ({seconds:.0f} s)", flush=True)

def unit(program):
    r = subprocess.run([program], capture_output=True, text=True, errors="replace", env=env, cwd=root, timeout=900)
    text = r.stdout + r.stderr
    count = lambda what: sum(int(n) for n in re.findall(rf"\[ *{what} *\] (\d+) test", text))
    passed, failed, skipped = count("PASSED"), count("FAILED"), count("SKIPPED")
    if r.returncode != 0 and failed == 0:  # crash, sanitizer, leak
        failed = 1
    if failed:
        print(f"--- {os.path.basename(program)} (exit {r.returncode})\n{text[-6000:]}", flush=True)
    return passed, failed, skipped

# Tables by other writers, where the shared data is installed; test programs look under /tmp/frazil-data, the place their metadata names.
tables = os.path.join(os.environ.get("FRAZIL_SHARED_DATA", f"{root}/../shared/data"), "iceberg/tables/unpack.sh")
if os.path.exists(tables) and not os.path.exists("/tmp/frazil-data/wh"):
    subprocess.run(["sh", tables], check=False)

t0 = time.time()
sums = [0, 0, 0]
programs = sorted(f for f in glob.glob(f"{root}/build/test/test/test_*") if os.access(f, os.X_OK) and os.path.isfile(f))
with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
    for r in pool.map(unit, programs):
        sums = [x + y for x, y in zip(sums, r)]
closing("unit", *sums, time.time() - t0)

def suite(name, *command):
    t0 = time.time()
    r = subprocess.run([sys.executable, *command], capture_output=True, text=True, errors="replace", env=env, cwd=root)
    lines = (r.stdout + r.stderr).strip().splitlines()
    m = re.search(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", lines[-1] if lines else "")
    passed, failed, skipped = (int(x or 0) for x in m.groups()) if m else (0, 1, 0)
    if failed or r.returncode != 0 or not m:
        failed = max(failed, 1)
        print("\n".join(lines[-400:]), flush=True)
    elif passed == 0 and skipped:
        print("\n".join(lines[:-1]), flush=True)
    closing(name, passed, failed, skipped, time.time() - t0)

frazil = f"{root}/build/test/frazil"
listing = [] if a.long else ["--list", f"{root}/test/conformance/every_run.list"]
suite("conformance", f"{root}/test/conformance/run_frazil.py", "--frazil", frazil, "--jobs", str(a.jobs), *listing)
suite("tables", f"{root}/test/model/run_tables.py", "--frazil", frazil, "--jobs", str(a.jobs), "--shrink", "0", *(["--rounds", "2"] if a.long else []))
suite("model", f"{root}/test/model/run_model.py", "--frazil", frazil, "--jobs", str(a.jobs), "--shrink", "0", "--count", "1000" if a.long else "25")
suite("converge", f"{root}/test/cdc/run_converge.py", "--frazil", frazil, f"{root}/test/cdc")
suite("cli", f"{root}/test/cli/run_cli.py", "--frazil", frazil)
suite("fault", f"{root}/test/fault/run_fault.py", "--frazil", frazil, *(["--long"] if a.long else []))
print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
sys.exit(1 if total[1] else 0)
