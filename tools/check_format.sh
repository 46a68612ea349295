#!/usr/bin/env bash
# Every C file is formatted as .clang-format says. Prints the files that are not; exit 1 when there are any.
set -euo pipefail
cd "$(dirname "$0")/.."
files=$(git ls-files 'src/*.[ch]' 'cli/*.[ch]' 'test/*.[ch]' 'include/*.h')
bad=0; n=0
for file in $files; do
  n=$((n + 1))
  clang-format --dry-run -Werror "$file" >/dev/null 2>&1 || { echo "not formatted: $file (clang-format -i $file)"; bad=$((bad + 1)); }
done
echo "format: $n files, $bad not formatted"
[ "$bad" = 0 ]
