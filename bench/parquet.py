"""CASE parquet: reading and writing one Parquet file of ten million rows, beside PyArrow and DuckDB, on one and two threads. Called by run.py.

The file is the one frazil wrote (bloom filter on order_id), the same for all readers. frazil is timed as a process less its start (SELECT 1,
median), PyArrow and DuckDB inside a Python process that has loaded them (this file as a program, one request a line). Rows and sums must agree.
"""
import glob, json, os, re, shutil, statistics, subprocess, sys, time

COLS = ["order_id", "customer_id", "status", "amount", "event_date", "updated_at", "note"]
DDL = "order_id bigint, customer_id bigint, status string, amount decimal(12,2), event_date date, updated_at timestamp_ntz, note string"
FULL = "SELECT count(*), sum(order_id), sum(customer_id), min(status), sum(amount), max(event_date), max(updated_at), sum(length(note)) FROM {t}"
TWO = "SELECT count(*), sum(customer_id), sum(amount) FROM {t}"
KEY = 7654321
LOOKUP = "SELECT order_id, customer_id, status, amount, event_date, updated_at, note FROM {t} WHERE order_id = " + str(KEY)
NOTE = "SELECT order_id FROM {t} WHERE note = '{note}'"

# ---- the peers, in their own process

def peer():
    import duckdb, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
    def arrow(r):
        pa.set_cpu_count(r["threads"]); pa.set_io_thread_count(r["threads"]); many = r["threads"] > 1; f = r.get("file")
        if r["what"] == "full":
            t = pq.read_table(f, use_threads=many)
            return [t.num_rows, pc.sum(t["order_id"]).as_py(), pc.sum(t["customer_id"]).as_py(), pc.min(t["status"]).as_py(), pc.sum(t["amount"]).as_py(), pc.max(t["event_date"]).as_py(),
                    pc.max(t["updated_at"]).as_py(), pc.sum(pc.utf8_length(t["note"])).as_py()]
        if r["what"] == "two":
            t = pq.read_table(f, columns=["customer_id", "amount"], use_threads=many); return [t.num_rows, pc.sum(t["customer_id"]).as_py(), pc.sum(t["amount"]).as_py()]
        if r["what"] == "lookup": return list(pq.read_table(f, filters=[("order_id", "=", KEY)], use_threads=many).to_pylist()[0].values())
        if r["what"] == "note": return list(pq.read_table(f, columns=["order_id"], filters=[("note", "=", r["note"])], use_threads=many).to_pylist()[0].values())
        pq.write_table(arrow.base, r["out"], compression="zstd", compression_level=1, row_group_size=100000); return []
    con = duckdb.connect(); con.execute("set preserve_insertion_order=false")
    def duck(r):
        con.execute(f"set threads={r['threads']}")
        if r["what"] == "write": con.execute(f"copy (select * from base) to '{r['out']}' (format parquet, compression zstd, compression_level 1, row_group_size 100000)"); return []
        if r["what"] == "column": con.execute(f"copy (select * replace (case when order_id % 100 = 7 then 'x' else status end as status) from '{r['file']}') to '{r['out']}' (format parquet, compression zstd, compression_level 1)"); return []
        sql = {"full": FULL, "two": TWO, "lookup": LOOKUP, "note": NOTE.replace("{note}", r.get("note", ""))}[r["what"]].replace("{t}", f"'{r['file']}'")
        return list(con.execute(sql).fetchone())
    for line in sys.stdin:
        r = json.loads(line)
        if r["what"] == "load":
            if r["who"] == "arrow": arrow.base = pq.read_table(r["file"])
            else: con.execute(f"create or replace temp table base as from '{r['file']}'")
            print(json.dumps([0, []]), flush=True); continue
        start = time.perf_counter(); answer = (arrow if r["who"] == "arrow" else duck)(r); took = time.perf_counter() - start
        print(json.dumps([took, [str(x) for x in answer]]), flush=True)

class Peer:
    def __init__(self, here, who):
        self.who = who; self.p = subprocess.Popen([os.environ["PY_PEERS"], f"{here}/parquet.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    def ask(self, **request):
        self.p.stdin.write(json.dumps({"who": self.who, **request}) + "\n"); self.p.stdin.flush(); line = self.p.stdout.readline()
        if not line: raise RuntimeError(f"{self.who} ended")
        return json.loads(line)
    def close(self): self.p.stdin.close(); self.p.wait()

# ---- the run

def run(frazil, root, here, rounds, peers):
    data = f"{root}/build/bench/d10m"
    if not os.path.exists(f"{data}/changes_1.parquet"):
        subprocess.run([os.environ["PY_PEERS"], f"{here}/gen.py", data, "--rows", "10000000"], check=True, stdout=subprocess.DEVNULL)
    folder = f"{root}/build/bench/parquet"; shutil.rmtree(folder, ignore_errors=True); os.makedirs(folder)
    median = statistics.median
    def call(sql, threads, work="table"):
        os.makedirs(f"{folder}/{work}", exist_ok=True)
        start = time.perf_counter()
        p = subprocess.Popen([frazil, "sql", "-v", "--format", "tsv", "--no-header", "--threads", str(threads), "-e", sql], cwd=f"{folder}/{work}", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = p.communicate(); took = time.perf_counter() - start
        if p.returncode != 0: raise RuntimeError(err[-800:])
        return took, out.strip().split("\t"), err
    create = f"CREATE TABLE db.t ({DDL}) USING iceberg TBLPROPERTIES ('write.update.mode'='copy-on-write','write.merge.mode'='copy-on-write','write.parquet.bloom-filter-enabled.column.order_id'='true')"
    insert = f"INSERT INTO db.t SELECT {', '.join(COLS)} FROM parquet.`{data}/base.parquet`"
    call(create + ";" + insert, 2)
    file, = glob.glob(f"{folder}/table/**/*.parquet", recursive=True); size = os.path.getsize(file)
    note = call(f"SELECT note FROM db.t WHERE order_id = {KEY}", 2)[1][0]
    others = {w: Peer(here, w) for w in ("arrow", "duckdb")}
    times, answers, shares, sizes = {}, {}, {}, {"frazil": size}
    def add(case, threads, who, took): times.setdefault((case, threads), {}).setdefault(who, []).append(max(took, 1e-4))
    def share(err):
        m = re.search(r"([\d.]+) of ([\d.]+) MB read", err); return float(m[1]) / float(m[2]) if m else None
    for w in others.values(): w.ask(what="load", file=f"{data}/base.parquet")
    sqls = {"full": FULL, "two": TWO, "lookup": LOOKUP, "note": NOTE.replace("{note}", note)}
    for r in range(rounds):
        for threads in (1, 2):
            start_up = median(call("SELECT 1", threads)[0] for _ in range(5))
            for case, sql in sqls.items():
                took, answer, err = call(sql.replace("{t}", "db.t"), threads)
                add(case, threads, "frazil", took - start_up); answers.setdefault(case, {})["frazil"] = answer; shares[case] = share(err)
                for who, w in others.items():
                    took, answer = w.ask(what=case, file=file, threads=threads, note=note); add(case, threads, who, took); answers[case][who] = answer
            # Writing: frazil reads base.parquet as it goes, so reading that file is taken off; the peers write from memory.
            read = call(FULL.replace("{t}", f"parquet.`{data}/base.parquet`"), threads)[0]
            shutil.rmtree(f"{folder}/write", ignore_errors=True); call(create, threads, "write")
            took, _, _ = call(insert, threads, "write"); add("write", threads, "frazil", took - read)
            for who, w in others.items():
                took, _ = w.ask(what="write", out=f"{folder}/{who}.parquet", threads=threads); add("write", threads, who, took); sizes[who] = os.path.getsize(f"{folder}/{who}.parquet")
        # Rewrites, on two threads: the table is put back each time.
        for case, sql in (("clustered", "UPDATE db.t SET note = concat('x', note) WHERE order_id BETWEEN 5000000 AND 5009999"), ("column", "UPDATE db.t SET status = 'x' WHERE order_id % 100 = 7")):
            shutil.rmtree(f"{folder}/again", ignore_errors=True); shutil.copytree(f"{folder}/table", f"{folder}/again")
            os.sync()
            took, _, err = call(sql.replace("db.t", "db.t"), 2, "again"); inside = [float(x) for x in re.findall(r"· ([0-9.]+) s$", err, re.M)]
            add(case, 2, "frazil", inside[-1] if inside else took)
        start = time.perf_counter(); shutil.copyfile(file, f"{folder}/copy.parquet"); add("clustered", 2, "copy", time.perf_counter() - start)
        took, _ = others["duckdb"].ask(what="column", file=file, out=f"{folder}/column.parquet", threads=2); add("column", 2, "duckdb", took)
    for w in others.values(): w.close()
    passed = failed = 0
    number = lambda x: str(float(x)) if re.fullmatch(r"-?[\d.]+", x) else x.replace("T", " ")
    for case, a in answers.items():
        for who in ("arrow", "duckdb"):
            same = [number(x) for x in a["frazil"]] == [number(x) for x in a[who]]
            passed += same; failed += not same
            if not same: print(f"{case}: {who} answers {a[who]}, frazil {a['frazil']}")
    print(f"\nten million rows, 7 columns, {size / 1e6:.0f} MB; medians of {rounds} interleaved rounds, seconds")
    print(f"{'case':28} {'threads':>7} {'frazil':>8} {'PyArrow':>8} {'DuckDB':>8}   faster peer / frazil")
    names = {"full": "full scan", "two": "2 of 7 columns", "lookup": "one row by key (bloom, pages)", "note": "one row by text (no bloom)", "write": "write"}
    met = []
    for (case, threads), t in sorted(times.items(), key=lambda x: (list(names).index(x[0][0]) if x[0][0] in names else 9, x[0][1])):
        if case not in names: continue
        m = {w: median(v) for w, v in t.items()}; best = min(m["arrow"], m["duckdb"])
        print(f"{names[case]:28} {threads:7} {m['frazil']:8.3f} {m['arrow']:8.3f} {m['duckdb']:8.3f}   {best / m['frazil']:6.2f}x")
        if case in ("full", "two", "write"): met.append((f"{names[case]}, {threads} threads: as fast as the faster of the two", best / m["frazil"] >= 1))
    met.append((f"one row by key reads {100 * shares['lookup']:.2f} % of the bytes (aim: below 1 %), by text without bloom filter {100 * shares['note']:.1f} %", shares["lookup"] < 0.01))
    small = min(sizes["arrow"], sizes["duckdb"])
    met.append((f"size: {', '.join(f'{w} {s / 1e6:.0f} MB' for w, s in sizes.items())} (aim: within 5 % of the smaller)", size <= 1.05 * small))
    c = {w: median(v) for w, v in times[("clustered", 2)].items()}
    met.append((f"clustered rewrite of 0.1 %: {c['frazil']:.3f} s, copying the file {c['copy']:.3f} s: {c['frazil'] / c['copy']:.1f}x (aim: at most 2x)", c["frazil"] <= 2 * c["copy"]))
    c = {w: median(v) for w, v in times[("column", 2)].items()}
    met.append((f"one column on all pages: {c['frazil']:.3f} s, DuckDB's COPY {c['duckdb']:.3f} s: {c['duckdb'] / c['frazil']:.1f}x (aim: at least 4x)", c["duckdb"] >= 4 * c["frazil"]))
    for text, ok in met: print(f"{'met    ' if ok else 'NOT MET'} {text}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0

if __name__ == "__main__":
    peer()
