"""Tables by other writers, copied so that they can be changed: metadata, manifest lists and manifests are rewritten to where the files are."""
import gzip
import json
import os
import sqlite3

import avro
import parquet_writer as pw

PATH_ID, POS_ID = 2147483546, 2147483545
OWN_PLACES = ("write.data.path", "write.metadata.path", "write.folder-storage.path", "write.object-storage.path")


def read_metadata(path):
    with open(path, "rb") as f:
        data = f.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def local(path):
    """Where a location of the local file system is."""
    return "/" + path[5:].lstrip("/") if path.startswith("file:") else path


class Copy:
    """One table: `prefixes` maps beginnings of paths to folders; data files stay where they are, everything rewritten goes into `folder`."""

    def __init__(self, folder, prefixes, read_deletes):
        self.folder, self.prefixes, self.read_deletes, self.done = folder, sorted(prefixes.items(), key=lambda p: -len(p[0])), read_deletes, {}
        os.makedirs(os.path.join(folder, "metadata"), exist_ok=True)

    def where(self, path):
        for prefix, folder in self.prefixes:
            if path.startswith(prefix):
                return os.path.join(folder, path[len(prefix):])
        return path

    def new_place(self, path):
        return os.path.join(self.folder, "metadata", f"{len(self.done)}-{os.path.basename(path)}")

    def position_deletes(self, path):
        """A file of position deletes with the paths of the copy."""
        rows = [(p and self.where(p).encode(), n) for p, n in self.read_deletes(local(path))]
        out = self.new_place(path)
        size = pw.write(out, [("file_path", PATH_ID, pw.BYTE_ARRAY, {6: 0}, [p for p, _ in rows]), ("pos", POS_ID, pw.INT64, {}, [n for _, n in rows])], len(rows))
        return out, size

    def manifest(self, path):
        """(place, length) of the rewritten manifest; (path, None) where it is not there."""
        path = self.where(path)
        if path in self.done:
            return self.done[path]
        if not os.path.exists(local(path)):
            return path, None
        meta, entries = avro.read(local(path))
        for entry in entries:
            file = entry["data_file"]
            old = file["file_path"]
            file["file_path"] = self.where(old)
            if file.get("referenced_data_file"):
                file["referenced_data_file"] = self.where(file["referenced_data_file"])
            if file.get("content") == 1 and file["file_format"].upper() == "PARQUET" and file["file_path"] != old and entry["status"] != 2:
                file["file_path"], file["file_size_in_bytes"] = self.position_deletes(file["file_path"])
                file["split_offsets"] = None
            for key in ("lower_bounds", "upper_bounds"):
                if file.get("content") == 1 and file.get(key):
                    file[key] = [b for b in file[key] if b["key"] != PATH_ID or file["file_path"] == old]
        out = self.new_place(path)
        self.done[path] = (out, avro.write(out, meta, entries))
        return self.done[path]

    def manifest_list(self, path):
        path = self.where(path)
        if path in self.done:
            return self.done[path][0]
        if not os.path.exists(local(path)):
            return path
        meta, manifests = avro.read(local(path))
        for m in manifests:
            m["manifest_path"], length = self.manifest(m["manifest_path"])
            if length is not None:
                m["manifest_length"] = length
        out = self.new_place(path)
        self.done[path] = (out, avro.write(out, meta, manifests))
        return out

    def metadata(self, path):
        """The place of the rewritten metadata file."""
        document = read_metadata(path)
        document["location"] = self.folder
        properties = document.get("properties") or {}
        for key in OWN_PLACES:
            properties.pop(key, None)
        document["metadata-log"] = []
        for snapshot in document.get("snapshots") or []:
            if snapshot.get("manifest-list"):
                snapshot["manifest-list"] = self.manifest_list(snapshot["manifest-list"])
            elif snapshot.get("manifests"):
                snapshot["manifests"] = [self.manifest(m)[0] for m in snapshot["manifests"]]
        for statistics in (document.get("statistics") or []) + (document.get("partition-statistics") or []):
            statistics["statistics-path"] = self.where(statistics["statistics-path"])
        out = os.path.join(self.folder, "metadata", "00000-copied.metadata.json")
        with open(out, "w", encoding="utf-8") as f:
            json.dump(document, f)
        return out


def register(database, namespace, table, metadata):
    """Enters a table into a SQLite catalog that holds nothing but the namespaces of one catalog."""
    db = sqlite3.connect(database)
    with db:
        ((catalog,),) = db.execute("SELECT DISTINCT catalog_name FROM iceberg_namespace_properties").fetchall()
        columns = [r[1] for r in db.execute("PRAGMA table_info(iceberg_tables)")]
        row = {"catalog_name": catalog, "table_namespace": namespace, "table_name": table, "metadata_location": metadata}
        row.update({"iceberg_type": "TABLE"} if "iceberg_type" in columns else {})
        db.execute(f"INSERT OR REPLACE INTO iceberg_tables ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    db.close()
