#!/bin/sh
# include/ridge_calls.h is what tools/callsites makes of include/ridge.h; the header serves C and C++, without warnings.
set -e
cd "$(dirname "$0")/../.."
tools/callsites check
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/user.c" <<'C'
#include <ridge.h>
int main(void) {
    rg_ctx *c = rg_open("REF");
    rg_tensor a = rg_from(c, RG_F32, (float[]){1, 2}, RG_SHAPE(2)), g;
    rg_tensor y = rg_sum(rg_add(rg_sub(1, a), 2.5f), RG_AXES(0), .keep = true);
    rg_grad(rg_sum(y), RG_TENSORS(a), &g);
    rg_assign_slice(a, 0, RG_SLICES(RG_FROM(1)));
    return rg_close(c);
}
C
for std in c11 gnu17; do ${CC:-gcc} -std=$std -Wall -Wextra -Wshadow -Werror -Iinclude -fsyntax-only "$dir/user.c"; done
cat > "$dir/user.cc" <<'C'
#include <ridge.h>
int main() {
    rg_ctx *c = rg_open("REF");
    const int64_t shape[] = {2};
    rg_reduce_opts keep = {};
    keep.keep = true;
    rg_tensor a = rg_ones(c, RG_F32, rg_ints{shape, 1}), b = rg_sum(rg_add(a, a), rg_reduce_opts());
    bool ok = rg_item(b) == 4 && rg_rank(rg_sum(a, keep)) == 1 && !rg_status_of(c);
#if __cplusplus >= 201402L
    ok = ok && keep.size_ == (int)sizeof keep;
#endif
    return rg_close(c) || !ok;
}
C
build=${BUILD_DIR:-build/release}
tried=
for cxx in g++ clang++; do
    command -v $cxx > "$dir/where" || continue
    tried=yes
    for std in c++11 c++14 c++20; do $cxx -std=$std -Wall -Wextra -Wpedantic -Werror -Iinclude -c -o "$dir/user.o" "$dir/user.cc"; done
    grep -q fsanitize "$build/flags" && continue # a sanitizer is its compiler's
    $cxx -o "$dir/user" "$dir/user.o" -L"$build" -lridge
    LD_LIBRARY_PATH=$build "$dir/user" || { echo "the C++ program of $cxx failed"; exit 1; }
done
[ -n "$tried" ] || echo "no C++ compiler here: the header is not tried as C++"
[ "$(grep -c '^RG_FN' include/ridge.h)" -eq "$(grep -c '^#define rg_' include/ridge_calls.h)" ] ||
    { echo "not every RG_FN of ridge.h has its macro"; exit 1; }
