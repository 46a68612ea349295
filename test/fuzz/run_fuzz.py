#!/usr/bin/env python3
"""Runs libFuzzer targets, several at a time, each for so many seconds, over the corpora in the tree.

usage: run_fuzz.py --build BUILD --seconds N [--jobs N] [TARGET...]

New inputs go to BUILD/work/TARGET, what a target does not survive to BUILD/found-TARGET-*; the latter, made small (-minimize_crash=1), belongs into
test/fuzz/corpus/TARGET/found-* together with the repair. Memory is bounded: 512 MiB for the program, 256 MiB for one allocation; 10 s for one input.
Ends with `N passed, N failed`.
"""
import argparse, concurrent.futures, glob, os, re, subprocess, sys

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--build", required=True); p.add_argument("--seconds", type=int, default=60); p.add_argument("--jobs", type=int, default=1)
p.add_argument("targets", nargs="*")
a = p.parse_args()
here = os.path.dirname(os.path.abspath(__file__))
build = os.path.abspath(a.build)
targets = a.targets or sorted(os.path.basename(f)[5:-2] for f in glob.glob(here + "/fuzz_*.c"))
env = dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=16", UBSAN_OPTIONS="print_stacktrace=1")

def run(target):
    work, corpus = f"{build}/work/{target}", f"{here}/corpus/{target}"
    os.makedirs(work, exist_ok=True)
    folders = [work, corpus] + ([f"{here}/../data/parquet"] if target == "parquet_file" else [])
    r = subprocess.run([f"{build}/fuzz_{target}", f"-max_total_time={a.seconds}", "-rss_limit_mb=512", "-malloc_limit_mb=256", "-timeout=10",
                        "-print_final_stats=1", f"-artifact_prefix={build}/found-{target}-", *folders], capture_output=True, text=True, errors="replace", env=env)
    text = r.stdout + r.stderr
    runs, peak = (re.search(rf"stat::{name}:\s+(\d+)", text) for name in ("number_of_executed_units", "peak_rss_mb"))
    print(f"{target}: {runs[1] if runs else '?'} runs, {peak[1] if peak else '?'} MB" + ("" if r.returncode == 0 else f", exit {r.returncode}\n{text[-4000:]}"), flush=True)
    return r.returncode == 0

with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
    ok = list(pool.map(run, targets))
print(f"{sum(ok)} passed, {len(ok) - sum(ok)} failed")
sys.exit(0 if all(ok) else 1)
