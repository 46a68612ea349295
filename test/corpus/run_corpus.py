#!/usr/bin/env python3
"""Runs a folder of files by other writers with expected values, of one of the forms of the shared data (their README.md say how values are written).

usage: run_corpus.py --programs FOLDER_OF_TEST_PROGRAMS DIR

Forms, told by what lies in DIR (or in its sub-folders, when DIR holds several):
  parquet   good/ with expect.jsonl, odd/ with odd.jsonl: schema, counts, hashes of every leaf and column
  bad       expect.jsonl with `expect`: error or either; no crash, hang or much memory
  iceberg   any of tables/ (tables.json, expect/, unpack.sh: every snapshot of every table), metadata/, avro/, puffin/, dv/ with expect.jsonl
            (puffin and dv: files that are known by name are compared, all are read)
Further: the mutations of test/fuzz/replay.c over all these files. Ends with `N passed, N failed, N skipped`, counted in tests.
"""
import argparse, os, re, subprocess, sys, tempfile

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--programs", required=True); p.add_argument("folder")
a = p.parse_args()
programs, root = os.path.abspath(a.programs), os.path.abspath(a.folder)

def form(folder):
    has = lambda *path: os.path.exists(os.path.join(folder, *path))
    if has("good") and has("expect.jsonl"):
        return "parquet"
    if any(has(d, f) for d, f in (("tables", "tables.json"), ("metadata", "expect.jsonl"), ("avro", "expect.jsonl"), ("puffin", "expect.jsonl"), ("dv", "expect.jsonl"))):
        return "iceberg"
    if has("expect.jsonl") and '"expect":' in open(os.path.join(folder, "expect.jsonl")).readline():
        return "bad"
    return None

found = {}
for folder in [root] + sorted(os.path.join(root, d) for d in os.listdir(root)):
    if os.path.isdir(folder) and form(folder):
        found.setdefault(form(folder), folder)
        if folder == root:
            break
if not found:
    sys.exit(f"{root} is of none of the forms parquet, bad, iceberg (see --help)")

TESTS = {"parquet": ["test_parquet_corpus", "test_parquet_variant", "test_fuzz_parquet_file"],
         "bad": ["test_parquet_corpus", "test_fuzz_parquet_file", "test_fuzz_avro", "test_fuzz_positions"],
         "iceberg": ["test_scan_tables", "test_metadata", "test_avro_files", "test_puffin_files", "test_puffin_positions", "test_manifest_tables",
                     "test_fuzz_avro", "test_fuzz_puffin", "test_fuzz_positions", "test_fuzz_metadata", "test_fuzz_manifest"]}
total = [0, 0, 0]
with tempfile.TemporaryDirectory() as view:  # the names under which the programs look
    for kind, folder in found.items():
        os.symlink(folder, os.path.join(view, kind))
    env = dict(os.environ, FRAZIL_SHARED_DATA=view)
    unpack = os.path.join(found.get("iceberg", ""), "tables", "unpack.sh")
    if os.path.exists(unpack):
        subprocess.run(["sh", unpack], check=True)
    for name in sorted({t for kind in found for t in TESTS[kind]}):
        program = os.path.join(programs, name)
        if not os.path.exists(program):
            sys.exit(f"{program} is not built (make corpus builds it)")
        r = subprocess.run([program], capture_output=True, text=True, errors="replace", env=env)
        text = r.stdout + r.stderr
        count = lambda what: sum(int(n) for n in re.findall(rf"\[ *{what} *\] (\d+) test", text))
        counts = [count("PASSED"), count("FAILED"), count("SKIPPED")]
        if r.returncode != 0 and counts[1] == 0:
            counts[1] = 1
        total = [x + y for x, y in zip(total, counts)]
        for line in text.splitlines():
            if (counts[1] and not line.startswith("[")) or re.search(r"\d+ (good|odd|bad) files|readings same|files with variants|inputs,", line):
                print(f"{name}: {line}")
print(f"{root}: {', '.join(f'{k}' for k in found)}")
print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
sys.exit(1 if total[1] else 0)
