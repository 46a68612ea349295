#!/usr/bin/env bash
# Fetches the pinned DuckDB module (go.mod, checked against go.sum) into Go's module cache and prints its folder.
set -euo pipefail
cd "$(dirname "$0")"
command -v go >/dev/null || { echo "fetch.sh: Go is missing; install the Debian package golang-go" >&2; exit 1; }
case $(uname -m) in
  x86_64) arch=amd64;; aarch64) arch=arm64;;
  *) echo "fetch.sh: no DuckDB build for $(uname -m); give -DDUCKDB_DIR=folder" >&2; exit 1;;
esac
module=github.com/duckdb/duckdb-go-bindings/lib/linux-$arch
dir=$(GOFLAGS=-mod=readonly go list -m -f '{{.Dir}}' "$module" 2>/dev/null || true)
if [ -z "$dir" ] || [ ! -f "$dir/duckdb.h" ]; then
  echo "fetching DuckDB ($module)" >&2
  GOFLAGS=-mod=mod go mod download "$module" >&2
  dir=$(GOFLAGS=-mod=mod go list -m -f '{{.Dir}}' "$module")
fi
[ -f "$dir/duckdb.h" ] || { echo "fetch.sh: $module has no duckdb.h" >&2; exit 1; }
echo "$dir"
