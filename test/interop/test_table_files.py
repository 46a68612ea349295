#!/usr/bin/env python3
"""PyIceberg reads the metadata, manifest lists and manifests that test_commit_files wrote.

usage: test_table_files.py PROGRAM     PROGRAM is the built test_commit_files; needs pyiceberg
"""
import datetime, decimal, glob, os, subprocess, sys, tempfile

from pyiceberg.table import StaticTable

EXPECTED = {
    "b": True, "i": -7, "l": 1 << 40, "f": 1.5, "d": -2.25, "dc": decimal.Decimal("-12.345"), "sm": decimal.Decimal("1.99"),
    "sm2": decimal.Decimal("-0.001"), "dt": 19753, "tm": 81068000000, "ts": 1706748303000004, "tz": 1706748303000004,
    "odd name-1": "a/b cä", "bin": b"\x00\x01\xff", "fx": b"xyz", "day_part": 19754, "bucket_part": 3,
}


def plain(value):
    """Days and microseconds, whatever type the reader gives."""
    if isinstance(value, datetime.datetime):
        epoch = datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo)
        return (value - epoch) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    if isinstance(value, datetime.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000000 + value.microsecond
    return value


def check(location, version):
    table = StaticTable.from_metadata(location)
    assert table.metadata.format_version == version, location
    names = [f.name for f in table.spec().fields]
    snapshot = table.current_snapshot()
    manifests = snapshot.manifests(table.io)
    live = {}
    for manifest in manifests:
        assert manifest.partition_spec_id == 0
        assert manifest.manifest_length == os.path.getsize(manifest.manifest_path)
        for entry in manifest.fetch_manifest_entry(table.io):
            live[os.path.basename(entry.data_file.file_path)] = entry
    files = ["1.parquet", "3.parquet"] + (["eq.parquet"] if version == 2 else [])
    assert sorted(live) == files, live.keys()
    got = {n: plain(live["3.parquet"].data_file.partition[i]) for i, n in enumerate(names)}
    assert got == EXPECTED, (got, EXPECTED)
    assert all(live["1.parquet"].data_file.partition[i] is None for i in range(len(names)))
    data = live["3.parquet"].data_file
    assert data.record_count == 5 and data.file_size_in_bytes == 50
    assert dict(data.value_counts) == {1: 5, 2: 5} and list(data.split_offsets) == [4, 1000]
    assert dict(data.lower_bounds) == {2: b"\xf9\xff\xff\xff"}
    if version > 1:
        assert live["1.parquet"].sequence_number == 1 and live["3.parquet"].sequence_number == 2
    if version == 2:
        assert list(live["eq.parquet"].data_file.equality_ids) == [2] and live["eq.parquet"].sequence_number == 3
    assert snapshot.summary.additional_properties["total-records"] == "10"
    bound = manifests[0].partitions
    assert len(bound) == len(names)
    if version == 1 or version == 3:
        paths = sorted(os.path.basename(t.file.file_path) for t in table.scan().plan_files())
        assert paths == ["1.parquet", "3.parquet"], paths
        some = sorted(os.path.basename(t.file.file_path) for t in table.scan(row_filter="i == -7").plan_files())
        assert some == ["3.parquet"], some
    print("ok", os.path.basename(os.path.dirname(os.path.dirname(location))))


def main():
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, FRAZIL_TEST_OUT=folder)
        subprocess.run([sys.argv[1]], env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for version in (1, 2, 3):
            newest = sorted(glob.glob(f"{folder}/v{version}/metadata/*.metadata.json"))[-1]
            check(newest, version)


main()
