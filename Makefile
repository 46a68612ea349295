# Thin front of CMake. The two commands to know: `make demo` and `make test`; both install what is missing.
# `make help` lists the rest.
JOBS ?= $(shell nproc)
CASE ?= 2
NINJA = cmake --build

.PHONY: help build test-build demo test test-long conformance converge interop model corpus fuzz bench install check format clean

help:
	@echo "make demo                  build and run the main job: captured orders into an Iceberg table, then the lesson's MERGE"
	@echo "make test                  build with sanitizers, run all tests (test-long: longer matrices)"
	@echo "make conformance DIR=d     run any folder of conformance records"
	@echo "make converge DIR=d        run any folder of captured change streams to their final state"
	@echo "make corpus DIR=d          run any folder of Parquet, Iceberg or damaged files with expected values (as ../shared/data/parquet)"
	@echo "make fuzz SECONDS=60       run every fuzz target for so long (clang; TARGET=avro: one)"
	@echo "make interop               Spark, PyIceberg and DuckDB read what frazil wrote, and the reverse (Java 17, Maven)"
	@echo "make model SEED=n COUNT=n   random tables and statements against a row-by-row model (SPARK=k: Spark reads k of the tables)"
	@echo "make bench CASE=2|big|memory|parquet|start  frazil beside Spark, Sail and DuckDB-iceberg"
	@echo "make install PREFIX=/usr/local"
	@echo "make check                 layers and format"

build:
	@tools/deps.sh build
	@echo "building frazil (build/release)"
	@cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log
	@$(NINJA) build/release --target frazil -j $(JOBS) | grep -vE '^\[|^ninja:' || true
	@test -x build/release/frazil
	@cp -f build/release/frazil build/frazil.new && mv -f build/frazil.new build/frazil

test-build:
	@tools/deps.sh build
	@echo "building with sanitizers and fail points (build/test)"
	@cmake -S . -B build/test -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFZ_SANITIZE=ON -DFZ_FAIL_POINTS=ON >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log
	@$(NINJA) build/test --target frazil unit_tests -j $(JOBS) | grep -vE '^\[|^ninja:' || true
	@test -x build/test/frazil

demo: build
	@examples/demo.sh

test: test-build
	@python3 tools/run_tests.py --jobs $(JOBS)

test-long: test-build
	@python3 tools/run_tests.py --jobs $(JOBS) --long

conformance: test-build
	@python3 test/conformance/run_frazil.py --frazil build/test/frazil --jobs $(JOBS) $(DIR)

converge: test-build
	@python3 test/cdc/run_converge.py --frazil build/test/frazil $(DIR)

interop: build
	@tools/deps.sh interop
	@test -d build/demo/frazil-warehouse || { echo "running the demo, for its tables"; examples/demo.sh >build/demo.log 2>&1 || echo "the demo failed (build/demo.log)"; }
	@$(NINJA) build/release --target test_parquet_write_files test_parquet_copy -j $(JOBS) | grep -vE '^\[|^ninja:' || true
	@echo "engines: Spark, PyIceberg, DuckDB (installed into the cache when missing: 1 GB, a minute or two)"
	@engines=$$(tools/services/oracles.sh spark peers duckice) || exit 1; eval "$$engines"; $$PY_PEERS test/interop/bloom.py build/frazil && $$PY_PEERS test/interop/encodings.py build/frazil && $$PY_PEERS test/interop/inspect_files.py build/frazil && $$PY_PEERS test/interop/statistics.py build/frazil && $$PY_PEERS test/interop/filters.py build/frazil && $$PY_PEERS test/interop/test_parquet_files.py build/release/test/test_parquet_write_files && $$PY_PEERS test/interop/test_copied_files.py build/release/test/test_parquet_copy build/frazil && $$PY_PEERS test/interop/test_partial_rewrite.py build/frazil --short && python3 test/interop/run_interop.py --frazil build/frazil

SEED ?= 1
COUNT ?= 500
SPARK ?= 0
model: build
	@python3 test/model/run_model.py --frazil build/frazil --seed $(SEED) --count $(COUNT) --jobs $(JOBS) --spark $(SPARK)

corpus: test-build
	@python3 test/corpus/run_corpus.py --programs build/test/test $(DIR)

SECONDS ?= 60
fuzz:
	@tools/deps.sh build fuzz
	@echo "building the fuzzers (build/fuzz)"
	@CC=clang CXX=clang++ cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFZ_FUZZ=ON >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log
	@$(NINJA) build/fuzz --target fuzzers -j $(JOBS) | grep -vE '^\[|^ninja:' || true
	@python3 test/fuzz/run_fuzz.py --build build/fuzz --seconds $(SECONDS) --jobs $(JOBS) $(TARGET)

bench: build
	@tools/deps.sh interop
	@python3 bench/run.py --frazil build/frazil $(CASE)

PREFIX ?= /usr/local
install: build
	@$(NINJA) build/release --target frazil_shared
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include/frazil
	install -m 755 build/release/frazil $(DESTDIR)$(PREFIX)/bin/frazil
	install -m 755 build/release/libfrazil.so $(DESTDIR)$(PREFIX)/lib/libfrazil.so
	install -m 644 include/frazil/frazil.h $(DESTDIR)$(PREFIX)/include/frazil/frazil.h

check:
	@tools/deps.sh check
	@python3 tools/check_layers.py
	@tools/check_format.sh
	@tools/check_header.sh

clean:
	rm -rf build
