"""What manifests say about data files, checked against the rows in them: record, value, null and NaN counts, bounds, partition values,
and the statistics in the Parquet footer. Runs in PyIceberg's Python; the bounds are decoded here, by the spec's single-value
serialisation, and the data are read by PyArrow."""
import datetime
import decimal
import math
import re
import struct
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

EPOCH = datetime.date(1970, 1, 1)


def plain(v):
    """A value as the integers, floats, bytes and texts that bounds are made of."""
    if isinstance(v, datetime.datetime):
        return (v.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    if isinstance(v, datetime.date):
        return (v - EPOCH).days
    if isinstance(v, uuid.UUID):
        return v.bytes
    if isinstance(v, datetime.time):
        return ((v.hour * 60 + v.minute) * 60 + v.second) * 10**6 + v.microsecond
    return v


def decoded(raw, t):
    if pa.types.is_boolean(t):
        return raw != b"\x00"
    if pa.types.is_decimal(t):
        return decimal.Decimal(int.from_bytes(raw, "big", signed=True)).scaleb(-t.scale, decimal.Context(prec=60))
    if pa.types.is_floating(t):
        return struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0]
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        return raw.decode()
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t) or str(t) == "extension<arrow.uuid>":
        return raw
    return int.from_bytes(raw, "little", signed=True)


def leaves(field, column):
    """(field id, PyArrow type, values) of each primitive that is in no list and no map."""
    if pa.types.is_struct(field.type):
        for i, child in enumerate(column.flatten()):
            yield from leaves(field.type.field(i), child)
    elif not pa.types.is_nested(field.type):
        yield int(field.metadata[b"PARQUET:field_id"]), field.type, column


def is_nan(v):
    return isinstance(v, float) and math.isnan(v)


def order(v):
    return v.encode() if isinstance(v, str) else v


def check_column(where, data_file, field_id, t, values, problems):
    complete = re.search(r"-\d{5}\.parquet$", where)  # frazil's and Spark's names; PyIceberg leaves some counts and bounds out
    def say(text):
        problems.append(f"{where}, field {field_id} ({t}): {text}")
    python = [plain(v) for v in values.to_pylist()]
    for what, have, want in (("value count", data_file.value_counts, len(python)),
                             ("null count", data_file.null_value_counts, sum(v is None for v in python)),
                             ("NaN count", data_file.nan_value_counts, sum(is_nan(v) for v in python) if pa.types.is_floating(t) else None)):
        got = (have or {}).get(field_id)
        if got != want and (complete or got is not None):
            say(f"{what} {got}, the data have {want}")
    present = [order(v) for v in python if v is not None and not is_nan(v)]
    low, high = (data_file.lower_bounds or {}).get(field_id), (data_file.upper_bounds or {}).get(field_id)
    truncates = pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_binary(t) or pa.types.is_large_binary(t)
    if not present:
        if low is not None or high is not None:
            say("bounds without a value")
        return
    if low is None and complete:
        say("no lower bound")
    if high is None and complete and not truncates:
        say("no upper bound")
    for name, raw, extreme in (("lower", low, min(present)), ("upper", high, max(present))):
        if raw is None:
            continue
        try:
            bound = decoded(raw, t)
        except (ValueError, struct.error) as error:
            say(f"{name} bound {raw.hex()}: {error}")
            continue
        if truncates and complete and len(bound) > 16:
            say(f"{name} bound of {len(bound)} characters")
        b = order(bound)
        if (b > extreme if name == "lower" else b < extreme):
            say(f"{name} bound {bound!r}, the data have {extreme!r}")
        if not truncates and complete and b != extreme:
            say(f"{name} bound {bound!r} is not tight, the data have {extreme!r}")
    if truncates and high is None and complete and len(max(present)) <= 16:
        say("no upper bound for short values")
    if pa.types.is_floating(t) and complete and low is not None and high is not None:  # -0.0 comes before 0.0
        signs = {math.copysign(1, v) for v in present if v == 0}
        if min(present) == 0 and math.copysign(1, decoded(low, t)) != min(signs) or max(present) == 0 and math.copysign(1, decoded(high, t)) != max(signs):
            say(f"bounds {decoded(low, t)} and {decoded(high, t)} of zeroes with the signs {signs}")


def check_footer(where, parquet, problems):
    """Statistics of the columns outside of lists, maps and structs, per row group."""
    meta = parquet.metadata
    for g in range(meta.num_row_groups):
        rows = parquet.read_row_group(g)
        for c in range(meta.num_columns):
            chunk = meta.row_group(g).column(c)
            if "." in chunk.path_in_schema or chunk.statistics is None:
                continue
            s, column = chunk.statistics, rows.column(chunk.path_in_schema)
            if s.has_null_count and s.null_count != column.null_count:
                problems.append(f"{where}, row group {g}, {chunk.path_in_schema}: null count {s.null_count}, the data have {column.null_count}")
            if not s.has_min_max or pa.types.is_binary(column.type):
                continue
            present = [order(plain(v)) for v in column.to_pylist() if v is not None and not is_nan(v)]
            if present and (order(plain(s.min)) > min(present) or order(plain(s.max)) < max(present)):
                problems.append(f"{where}, row group {g}, {chunk.path_in_schema}: statistics {s.min!r} to {s.max!r}")


def check_partition(where, spec, schema, data_file, columns, problems):
    for i, field in enumerate(spec.fields):
        source = columns.get(field.source_id)
        if source is None:
            continue
        transform = field.transform.transform(schema.find_field(field.source_id).field_type)
        have = plain(data_file.partition[i])
        for v in set(map(plain, source[1].to_pylist())):
            want = plain(transform(v))
            wraps = isinstance(want, int) and isinstance(have, int) and (want - have) % 2**32 == 0  # truncate of the smallest int and long
            if want != have and not wraps and not (is_nan(want) and is_nan(have)):
                problems.append(f"{where}: partition {field.name} is {have!r}, a row has {want!r}")
                break


def check(metadata):
    """Problems, and how many files were looked at."""
    from pyiceberg.manifest import DataFileContent
    from pyiceberg.table import StaticTable
    table = StaticTable.from_metadata(metadata)
    problems, files = [], 0
    schemas, specs = table.schemas(), table.specs()
    for manifest in table.current_snapshot().manifests(table.io) if table.current_snapshot() else []:
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            data_file = entry.data_file
            if str(data_file.file_format).split(".")[-1].upper() != "PARQUET":
                continue
            files += 1
            where = data_file.file_path.rsplit("/", 1)[-1]
            with open(data_file.file_path.removeprefix("file://").removeprefix("file:"), "rb") as f:
                raw = f.read()
            if len(raw) != data_file.file_size_in_bytes:
                problems.append(f"{where}: {len(raw)} bytes, the manifest says {data_file.file_size_in_bytes}")
            parquet = pq.ParquetFile(pa.BufferReader(raw), page_checksum_verification=True)
            rows = parquet.read()
            if rows.num_rows != data_file.record_count:
                problems.append(f"{where}: {rows.num_rows} rows, the manifest says {data_file.record_count}")
            if data_file.content != DataFileContent.DATA:
                continue
            check_footer(where, parquet, problems)
            columns = {}
            for i, field in enumerate(rows.schema):
                for field_id, t, values in leaves(field, rows.column(i).combine_chunks()):
                    columns[field_id] = (t, values)
                    check_column(where, data_file, field_id, t, values, problems)
            newest = max(schemas)
            check_partition(where, specs[data_file.spec_id], _Any(schemas, newest), data_file, columns, problems)
    return problems, files


class _Any:
    """A field by its id in whatever schema still has it, the newest first."""

    def __init__(self, schemas, newest):
        self.schemas = [schemas[newest]] + [s for i, s in schemas.items() if i != newest]

    def find_field(self, field_id):
        for schema in self.schemas:
            try:
                return schema.find_field(field_id)
            except ValueError:
                continue
        raise ValueError(f"no field {field_id}")
