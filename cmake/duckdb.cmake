# DuckDB: static libraries and duckdb.h of the pinned Go module (tools/duckdb/go.mod), or of -DDUCKDB_DIR=.
if(NOT DUCKDB_DIR)
  execute_process(COMMAND "${CMAKE_SOURCE_DIR}/tools/duckdb/fetch.sh" OUTPUT_VARIABLE DUCKDB_DIR OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE fetch_failed)
  if(fetch_failed)
    message(FATAL_ERROR "DuckDB could not be fetched; see above, or give -DDUCKDB_DIR=folder")
  endif()
  set(DUCKDB_DIR "${DUCKDB_DIR}" CACHE PATH "" FORCE)
endif()
message(STATUS "DuckDB: ${DUCKDB_DIR}")
set(duckdb_names duckdb_static duckdb_generated_extension_loader autocomplete_extension core_functions_extension icu_extension
    json_extension parquet_extension duckdb_fastpforlib duckdb_fmt duckdb_fsst duckdb_hyperloglog duckdb_jemalloc duckdb_mbedtls duckdb_miniz
    duckdb_pg_query duckdb_re2 duckdb_skiplistlib duckdb_utf8proc duckdb_yyjson duckdb_zstd)
set(duckdb_archives "")
foreach(name ${duckdb_names})
  if(EXISTS "${DUCKDB_DIR}/lib${name}.a")
    list(APPEND duckdb_archives "${DUCKDB_DIR}/lib${name}.a")
  endif()
endforeach()
add_library(duckdb_static_libs INTERFACE)
target_link_libraries(duckdb_static_libs INTERFACE -Wl,--start-group ${duckdb_archives} -Wl,--end-group stdc++ m dl pthread)

# The shared object that tests link, so that each links in no time.
set(duckdb_so "${CMAKE_BINARY_DIR}/libduckdb_test.so")
add_custom_command(OUTPUT "${duckdb_so}"
  COMMAND ${CMAKE_CXX_COMPILER} -shared -o "${duckdb_so}" -Wl,--whole-archive "${DUCKDB_DIR}/libduckdb_static.a"
          -Wl,--no-whole-archive -Wl,--start-group ${duckdb_archives} -Wl,--end-group -lm -ldl -lpthread
  VERBATIM)
add_custom_target(duckdb_so_target DEPENDS "${duckdb_so}")
add_library(duckdb_shared_lib INTERFACE)
target_link_libraries(duckdb_shared_lib INTERFACE "${duckdb_so}")
add_dependencies(duckdb_shared_lib duckdb_so_target)
