#!/usr/bin/env bash
# make demo: the main job on the embedded default, from a captured change stream to a checked table; then the lesson's MERGE in SQL.
# Everything lands in build/demo/frazil-warehouse (catalog and data), and stays there to look at.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd); frazil=$root/build/frazil
work=$root/build/demo; rm -rf "$work"; mkdir -p "$work/examples"; ln -s "$root/examples/orders" "$work/examples/orders"; cd "$work"
passed=0; failed=0
check() { # text, command... (its output is shown)
  local text=$1; shift
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "  NOT AS EXPECTED: $text"; fi
}
sql() { "$frazil" sql "$@"; }
equals() { # expected, sql
  local got; got=$(sql -S --format tsv --no-header -e "$2" | tr '\t' '|' | paste -sd' ')
  echo "  $got"; [ "$got" = "$1" ]
}

echo "1. 26,872 captured records of a PostgreSQL table -> local.shop.orders"
"$frazil" run examples/orders/orders.yaml --once
check "the captured final state" python3 examples/orders/compare.py "$frazil" local.shop.orders examples/orders/final.csv
echo "   once more: nothing to do"
"$frazil" run examples/orders/orders.yaml --once | tee again.txt
check "0 changes" grep -q '0 changes' again.txt

for mode in merge-on-read copy-on-write; do
  t=demo.orders_${mode//-/_}
  echo
  echo "2. the lesson's MERGE, $mode: 200,000 orders on 30 days, 5,000 changes"
  sql -e "CREATE TABLE $t (order_id BIGINT, customer_id BIGINT, status STRING, amount DECIMAL(10,2), is_deleted BOOLEAN, updated_at TIMESTAMP, event_ts TIMESTAMP)
USING iceberg PARTITIONED BY (days(event_ts)) TBLPROPERTIES ('format-version'='2', 'write.merge.mode'='$mode');
INSERT INTO $t SELECT id, (id * 7919) % 50000, element_at(array('created','paid','shipped'), CAST(id % 3 + 1 AS INT)),
  CAST(5 + (id * 37 % 49500) / 100 AS DECIMAL(10,2)), false, TIMESTAMP '2024-01-01 00:00:00',
  TIMESTAMP '2024-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id % 30 AS INT), 0, 0, id % 86400) FROM range(1, 200001)"
  delta="CREATE TEMP VIEW delta AS SELECT id * 37 AS order_id, 199.99BD AS amount, TIMESTAMP '2024-06-02 00:00:00' + make_interval(0,0,0,0,0,0,id) AS updated_at,
  id % 10 = 0 AS gone FROM range(1, 5001)"
  merge="MERGE INTO $t t USING delta s ON t.order_id = s.order_id
WHEN MATCHED AND s.updated_at > t.updated_at THEN UPDATE SET t.status = 'paid', t.amount = s.amount, t.updated_at = s.updated_at, t.is_deleted = s.gone
WHEN NOT MATCHED THEN INSERT (order_id, status, amount, is_deleted, updated_at, event_ts) VALUES (s.order_id, 'created', s.amount, s.gone, s.updated_at, s.updated_at)"
  sql -e "$delta; $merge"
  check "rows after the MERGE" equals "200000|5000|500" "SELECT count(*), count_if(amount = 199.99 AND updated_at >= TIMESTAMP '2024-06-02 00:00:00'), count_if(is_deleted) FROM $t"
  echo "   the same changes again: idempotent"
  sql -e "$delta; $merge"
  check "changed-partition-count 0" equals "0" "SELECT summary['changed-partition-count'] FROM $t.snapshots ORDER BY committed_at DESC LIMIT 1"
  echo "   two source rows for one order: refused, nothing changes"
  if sql -e "MERGE INTO $t t USING (SELECT 777L AS order_id, 'paid' AS status UNION ALL SELECT 777L, 'cancelled') s ON t.order_id = s.order_id
WHEN MATCHED THEN UPDATE SET t.status = s.status"; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
  sql -e "SELECT operation, summary['added-data-files'] AS added_files, summary['deleted-data-files'] AS removed_files, summary['added-delete-files'] AS delete_files,
  summary['changed-partition-count'] AS partitions FROM $t.snapshots ORDER BY committed_at"
done
echo
echo "tables, catalog and data: build/demo/frazil-warehouse"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
