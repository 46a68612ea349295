#!/usr/bin/env python3
"""Checks that every #include in src/ and cli/ follows tools/layers.txt. Prints each violation; exit 1 when there is one."""
import os, re, sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
allowed, libs = {}, {}
for line in open(f"{root}/tools/layers.txt"):
    line = line.split("#")[0].strip()
    if not line:
        continue
    left, right = line.split(":", 1)
    (libs if left.startswith("lib ") else allowed)[left.removeprefix("lib ")] = right.split()

def folder_of(path):  # longest known folder that holds the path
    return max((f for f in allowed if path.startswith(f + "/")), key=len, default=None)

bad = n = 0
def complain(where, text):
    global bad
    bad += 1
    print(f"{where}: {text}")

for top in ("src", "cli"):
    for at, _, files in os.walk(f"{root}/{top}"):
        for name in sorted(files):
            if not name.endswith((".c", ".h", ".def")):
                continue
            n += 1
            path = os.path.relpath(os.path.join(at, name), root)
            me = "cli" if top == "cli" else folder_of(path[4:])
            if me is None:
                complain(path, "folder is not in tools/layers.txt"); continue
            for number, line in enumerate(open(f"{root}/{path}", encoding="utf-8"), 1):
                m = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
                if not m:
                    continue
                quote, target = m.groups()
                where = f"{path}:{number}"
                for lib, folders in libs.items():
                    if target.startswith(lib) and me not in folders:
                        complain(where, f"<{target}> is for {', '.join(folders)} only")
                if target.startswith("frazil/"):
                    if me not in ("api", "cli"):
                        complain(where, "include/frazil is for src/api and cli only")
                elif quote == '"':
                    if me == "cli":
                        if "/" in target: complain(where, "cli may include include/frazil only")
                        continue
                    other = folder_of(target)
                    if other is None:
                        if not os.path.exists(os.path.join(root, "src", target)):
                            complain(where, f'"{target}" is not a path from src/')
                    elif other != me and other not in allowed[me]:
                        complain(where, f"{me} may not include {other}")
                    elif other != me and target.endswith("_priv.h"):
                        complain(where, f"{target} is private to {other}")
                    stage = re.match(r"src/cdc/(source|decode|fold|apply)/", path)
                    if stage and re.match(r"cdc/(source|decode|fold|apply)/", target) and not target.startswith(f"cdc/{stage[1]}/"):
                        complain(where, "stages of cdc/ meet in cdc/flow.h only")
print(f"layers: {n} files, {bad} violations")
sys.exit(1 if bad else 0)
