module frazil/tools/duckdb

go 1.24

require (
	github.com/duckdb/duckdb-go-bindings/lib/linux-amd64 v0.10506.0
	github.com/duckdb/duckdb-go-bindings/lib/linux-arm64 v0.10506.0
)
