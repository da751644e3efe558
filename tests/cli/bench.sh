#!/bin/sh
# The bench table without its peers: that the script, the programs and the names of rows fit together. BUILD_DIR is where they are.
set -u
BUILD_DIR=${BUILD_DIR:-build/release}
command -v python3 >/dev/null || exit 77
[ -x "$BUILD_DIR/bench/table/ours" ] || exit 77
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
bad=0
fail() { echo "$*"; bad=1; }

out=$(python3 bench/table/table.py --build "$BUILD_DIR" --out "$here" --rounds 1 --no OpenBLAS,PyTorch,tinygrad \
    --rows "sgemm 64,sgemm 512x10x784,1000 tiny,dot warm" 2>&1) || fail "table.py failed: $out"
case $out in *"left out: OpenBLAS,PyTorch,tinygrad"*) ;; *) fail "does not say which peers are missing: $out" ;; esac
python3 - "$here/results.json" <<'END' || fail "results.json is not as documented"
import json, sys
d = json.load(open(sys.argv[1]))
assert [r["row"] for r in d] == ["sgemm 64", "sgemm 512x10x784", "1000 tiny kernels", "first run dot warm"], [r["row"] for r in d]
for r in d:
    assert {"row", "unit", "ours", "peer", "peer_name", "ratio", "floor", "share"} <= set(r), r
    assert r["ours"] > 0 and r["peer"] is None and r["missing"], r
assert d[0]["share"] > 0 and d[0]["floor"] > 0, d[0]
END
# every row of the table is one of ours, and the other way round
python3 - "$BUILD_DIR/bench/table/ours" <<'END' || fail "the rows of table.py and ours.c differ"
import subprocess, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "bench/table")
import table
ours = set(subprocess.run([sys.argv[1], "list"], capture_output=True, text=True).stdout.split("\n")) - {""}
rows = {r[0].rpartition(" ")[0] if "gemm " in r[0] else r[0] for r in table.ROWS}
rows |= set(table.EXTRA)
assert ours == rows, ours ^ rows
END
# products of one's own, beside another build, by CPU time
out=$(python3 bench/table/table.py --build "$BUILD_DIR" --out "$here" --rounds 1 --no OpenBLAS,PyTorch,tinygrad --cpu-time \
    --beside "$BUILD_DIR" --products "33x20x17,nt:16x8x40,tn:31,f64:24,random:1:3" 2>&1) || fail "--products failed: $out"
python3 - "$here/results.json" <<'END' || fail "results of --products: $out"
import json, sys
d = json.load(open(sys.argv[1]))
assert [r["row"] for r in d][:4] == ["sgemm 33x20x17", "nt gemm 16x8x40", "tn gemm 31", "f64 gemm 24"] and len(d) == 5, d
assert all(r["ours"] > 0 and r["before"] > 0 for r in d), d
END
out=$(printf 'no such row\t1\n' | "$BUILD_DIR/bench/table/ours")
[ "$out" = "no Ridge has no such row" ] || fail "an unknown row: $out"
exit $bad
