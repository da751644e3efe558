#!/bin/sh
# Sources are as clang-format leaves them. Another major version formats otherwise: then this is skipped.
cd "$(dirname "$0")/../.." || exit 1
want=14
command -v clang-format > /dev/null || { echo "no clang-format; version $want is what the sources are formatted with"; exit 77; }
version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
[ "$version" = $want ] || { echo "clang-format is version $version, not $want"; exit 77; }
files=$(find include src cli tests bench tools examples python -name '*.[ch]' | sort)
out=$(echo "$files" | xargs clang-format --dry-run -Werror 2>&1) || { echo "$out" | grep error: | head -20; echo "make fmt mends it"; exit 1; }
