#!/usr/bin/env bash
# The public header compiles alone as C11, C17 and C++17, with warnings as errors.
set -euo pipefail
cd "$(dirname "$0")/.."
for std in c11 c17; do echo '#include <frazil/frazil.h>' | gcc -std=$std -Wall -Wextra -Wpedantic -Werror -Iinclude -x c -fsyntax-only -; done
echo '#include <frazil/frazil.h>' | g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -x c++ -fsyntax-only -
echo "header: C11, C17, C++17"
