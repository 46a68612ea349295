"""Equality deletes written by hand, as Flink writes them: a delete file, its manifest, a manifest list, a snapshot and the pointer of the catalog.

frazil and Spark only read such deletes; a model that never meets them would not see what a change of a table that has them does.
"""
import json
import os
import random
import sqlite3
import time

import avro
import parquet_writer as pw
from iceberg_files import local, read_metadata
from values import order_key

TYPES = ("int", "bigint", "decimal", "string", "binary", "boolean", "date", "timestamp", "timestamp_ntz")  # float and double are not allowed


def column(name, id_, t, values):
    """A column for parquet_writer."""
    kind = t[0]
    if kind == "decimal":
        _, p, s = t
        unscaled = [None if v is None else int(v.scaleb(s)) for v in values]
        if p <= 18:
            return name, id_, pw.INT32 if p <= 9 else pw.INT64, {6: 5, 7: s, 8: p}, unscaled
        size = next(n for n in range(1, 17) if 2 ** (8 * n - 1) > 10**p)
        return name, id_, pw.FIXED, {"length": size, 6: 5, 7: s, 8: p}, [None if v is None else v.to_bytes(size, "big", signed=True) for v in unscaled]
    if kind in ("string", "binary"):
        return name, id_, pw.BYTE_ARRAY, {6: 0} if kind == "string" else {}, [v.encode() if isinstance(v, str) else v for v in values]
    physical = {"int": pw.INT32, "date": pw.INT32, "bigint": pw.INT64, "boolean": pw.BOOLEAN}.get(kind, pw.INT64)
    extra = {"date": {6: 6}, "timestamp": {6: 10, "utc": True}, "timestamp_ntz": {"utc": False}}.get(kind, {})
    return name, id_, physical, extra, values


class Writer:
    """One commit on the main branch of a table in a SQLite catalog."""

    def __init__(self, database, namespace, table):
        self.database, self.key = database, (namespace, table)
        with sqlite3.connect(database) as db:
            ((self.place,),) = db.execute("SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?", self.key).fetchall()
        db.close()
        self.document = read_metadata(local(self.place))
        self.folder = local(self.document["location"])
        self.snapshot = next(s for s in self.document["snapshots"] if s["snapshot-id"] == self.document["current-snapshot-id"])
        self.list_meta, self.manifests = avro.read(local(self.snapshot["manifest-list"])) if "manifest-list" in self.snapshot else ({}, [])

    def specs(self):
        return {m["partition_spec_id"] for m in self.manifests}

    def any_meta(self):
        """The file metadata of a manifest whose schema has what a delete manifest needs."""
        metas = (avro.read(local(m["manifest_path"]))[0] for m in self.manifests if m.get("content") is not None)
        return next((m for m in metas if b'"content"' in m["avro.schema"] and b'"equality_ids"' in m["avro.schema"]), None)

    def usable(self):
        """A commit on version 3 must number rows of older manifests: that is left to the engine, and so are tables that were of version 1."""
        version = self.document["format-version"]
        if not self.manifests:
            return False
        unnumbered = version > 2 and any(m.get("first_row_id") is None and not m.get("content") for m in self.manifests)
        return version > 1 and not unnumbered and self.any_meta() is not None and b'"content"' in self.list_meta["avro.schema"]

    def live_files(self):
        """(spec id, partition, path, manifest) of the live data files."""
        for m in self.manifests:
            if m.get("content") == 0:
                meta, entries = avro.read(local(m["manifest_path"]))
                if b'"equality_ids"' not in meta["avro.schema"]:
                    continue
                for e in entries:
                    if e["status"] != 2:
                        yield m["partition_spec_id"], e["data_file"]["partition"], e["data_file"]["file_path"], meta

    def unpartitioned(self):
        for spec in self.document["partition-specs"]:
            if not spec["fields"]:
                return spec
        spec = {"spec-id": max(s["spec-id"] for s in self.document["partition-specs"]) + 1, "fields": []}
        self.document["partition-specs"].append(spec)
        return spec

    def commit(self, fields, rows, pick=None):
        """Deletes what equals one of the rows in `fields` [(name, type)]: in the whole table, or, with `pick`, in the partition of one data file.

        Gives the paths of the data files that it is about, None for all of them.
        """
        d, version = self.document, self.document["format-version"]
        schema = next(s for s in d["schemas"] if s["schema-id"] == d["current-schema-id"])
        ids = [next(f["id"] for f in schema["fields"] if f["name"] == n) for n, _ in fields]
        files = list(self.live_files())
        about = None
        if pick is not None and files:
            spec_id, partition, _, meta = files[pick % len(files)]
            about = {p for s, q, p, _ in files if (s, q) == (spec_id, partition)}
            spec = next(s for s in d["partition-specs"] if s["spec-id"] == spec_id)
            if not spec["fields"]:
                about = None  # unpartitioned: of the whole table
        else:
            spec, partition = self.unpartitioned(), {}
            meta = self.any_meta()
        meta = dict(meta)
        manifest_schema = json.loads(meta["avro.schema"])
        if not partition:
            file_type = next(f for f in manifest_schema["fields"] if f["name"] == "data_file")["type"]
            next(f for f in file_type["fields"] if f["name"] == "partition")["type"] = {"type": "record", "name": "r102", "fields": []}
            meta["avro.schema"] = json.dumps(manifest_schema).encode()
        meta.update({"partition-spec": json.dumps(spec["fields"]).encode(), "partition-spec-id": str(spec["spec-id"]).encode(), "content": b"deletes",
                     "schema": json.dumps(schema).encode(), "format-version": str(version).encode()})
        snapshot_id, sequence = random.getrandbits(62), d["last-sequence-number"] + 1
        path = os.path.join(self.folder, "data", f"eq-{snapshot_id}.parquet")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        size = pw.write(path, [column(n, i, t, [r[k] for r in rows]) for k, ((n, t), i) in enumerate(zip(fields, ids))], len(rows))
        entry = {"status": 1, "snapshot_id": snapshot_id, "sequence_number": None, "file_sequence_number": None,
                 "data_file": {"content": 2, "file_path": path, "file_format": "PARQUET", "partition": partition, "record_count": len(rows),
                               "file_size_in_bytes": size, "equality_ids": ids}}
        manifest = os.path.join(self.folder, "metadata", f"eq-{snapshot_id}-m0.avro")
        length = avro.write(manifest, meta, [entry])
        record = {"manifest_path": manifest, "manifest_length": length, "partition_spec_id": spec["spec-id"], "content": 1, "sequence_number": sequence,
                  "min_sequence_number": sequence, "added_snapshot_id": snapshot_id, "partitions": None}
        for what, n in (("added", 1), ("existing", 0), ("deleted", 0)):
            record.update({f"{what}_files_count": n, f"{what}_data_files_count": n, f"{what}_rows_count": n * len(rows)})
        listing = os.path.join(self.folder, "metadata", f"snap-{snapshot_id}-1-eq.avro")
        list_meta = dict(self.list_meta, **{"snapshot-id": str(snapshot_id).encode(), "parent-snapshot-id": str(self.snapshot["snapshot-id"]).encode(),
                                            "sequence-number": str(sequence).encode()})
        avro.write(listing, list_meta, self.manifests + [record])
        now = max(int(time.time() * 1000), d["last-updated-ms"] + 1)
        old = self.snapshot["summary"]
        summary = {"operation": "delete", "added-delete-files": "1", "added-equality-delete-files": "1", "added-equality-deletes": str(len(rows))}
        summary.update({k: v for k, v in old.items() if k.startswith("total-")})
        for key, n in (("total-delete-files", 1), ("total-equality-deletes", len(rows)), ("total-files-size", size)):
            summary[key] = str(int(old.get(key, "0")) + n)
        snapshot = {"snapshot-id": snapshot_id, "parent-snapshot-id": self.snapshot["snapshot-id"], "sequence-number": sequence, "timestamp-ms": now,
                    "summary": summary, "manifest-list": listing, "schema-id": d["current-schema-id"]}
        if version > 2:
            snapshot.update({"first-row-id": d["next-row-id"], "added-rows": 0})
        d["snapshots"].append(snapshot)
        d["current-snapshot-id"] = d["refs"]["main"]["snapshot-id"] = snapshot_id
        d["snapshot-log"] = d.get("snapshot-log", []) + [{"timestamp-ms": now, "snapshot-id": snapshot_id}]
        d["last-sequence-number"], d["last-updated-ms"] = sequence, now
        self.publish(f"eq-{snapshot_id}")
        return about

    def publish(self, what):
        """Writes the metadata as a new file and lets the catalog point to it."""
        d = self.document
        d["metadata-log"] = d.get("metadata-log", []) + [{"timestamp-ms": d["last-updated-ms"], "metadata-file": self.place}]
        number = int(os.path.basename(self.place).split("-")[0]) + 1
        place = os.path.join(self.folder, "metadata", f"{number:05d}-{what}.metadata.json")
        with open(place, "w", encoding="utf-8") as f:
            json.dump(d, f)
        db = sqlite3.connect(self.database)
        with db:
            db.execute("UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? WHERE table_namespace = ? AND table_name = ?",
                       (place, self.place, *self.key))
        db.close()

    def make_old(self, inline):
        """The current snapshot of a version 1 table as old writers left it: manifests without counts, or named in the metadata itself."""
        if inline:
            del self.snapshot["manifest-list"]
            self.snapshot["manifests"] = [m["manifest_path"] for m in self.manifests]
        else:
            for m in self.manifests:
                for key in list(m):
                    if key.endswith("_count"):
                        m[key] = None
            self.snapshot["manifest-list"] = os.path.join(self.folder, "metadata", f"snap-{random.getrandbits(62)}-old.avro")
            avro.write(local(self.snapshot["manifest-list"]), self.list_meta, self.manifests)
        self.publish(f"old-{random.getrandbits(62)}")


class OldManifests:
    """A statement of a case: see Writer.make_old."""

    is_setup, branch, wap = False, None, False

    def __init__(self, inline):
        self.inline = inline

    def sql(self, name):
        return ["-- the manifests of the current snapshot " + ("are named in the metadata itself" if self.inline else "lose their counts")]

    def shape(self, table):
        pass

    def apply(self, table, database, name):
        if table.version != 1 or table.snapshots == 0 or table.branches:
            return
        writer = Writer(database, "db", name)
        if writer.manifests and not (self.inline and writer.specs() != {0}):
            writer.make_old(self.inline)


class EqualityDelete:
    """A statement of a case: `picks` choose rows of the table whose values in `names` are deleted; `scope`: None, or the number of a file."""

    is_setup, branch, wap = False, None, False

    def __init__(self, names, picks, scope):
        self.names, self.picks, self.scope = names, picks, scope

    def sql(self, name):
        return [f"-- equality delete by ({', '.join(self.names)}) of the rows number {self.picks}, scope {self.scope}, written by hand"]

    def shape(self, table):
        for n in self.names:
            table.field(n)

    def apply(self, table, database, name):
        """The rows that are left, or None where nothing was written."""
        fields = [table.field(n) for n in self.names]
        if not table.rows:
            return None
        writer = Writer(database, "db", name)
        if not writer.usable():
            return None
        rows = [[table.rows[p % len(table.rows)].values.get(f.id) for f in fields] for p in self.picks]
        about = writer.commit([(f.name, f.type) for f in fields], rows, self.scope)
        gone = {tuple(order_key(v) for v in r) for r in rows}
        return [r for r in table.rows if about is not None and r.file not in about or tuple(order_key(r.values.get(f.id)) for f in fields) not in gone]
