#!/bin/sh
# ridge ceilings: help, what is printed, what is written and what is not. RIDGE names the binary.
set -u
RIDGE=${RIDGE:-build/ridge}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
bad=0
fail() { echo "$*"; bad=1; }
export XDG_CONFIG_HOME="$here/config"
unset RIDGE_MODEL

case $("$RIDGE" ceilings --help) in *--dry-run*) ;; *) fail "--help does not know --dry-run" ;; esac
"$RIDGE" ceilings extra >/dev/null 2>&1
[ $? -eq 2 ] || fail "an operand is not refused"

# an OpenCL device, where there is one, is guessed and said to be; where there is none, that is said
POCL_CACHE_DIR="$here/pocl" DEVICE=OPENCL "$RIDGE" ceilings >"$here/cl" 2>&1
grep -q -e 'OpenCL devices are not measured' -e 'there is no OpenCL on this machine' -e 'finds no OpenCL driver' \
    -e 'RTLD_DEEPBIND' "$here/cl" || fail "DEVICE=OPENCL: $(cat "$here/cl")"
[ ! -e "$here/config" ] || fail "DEVICE=OPENCL wrote a file"

# the kernels that measure a GPU compile, where there is NVRTC; the stand-in driver does not load what comes out
fake=${BUILD_DIR:-$(dirname "$RIDGE")}/fake/libcuda.so
if [ -f "$fake" ]; then
    RIDGE_CC_JOBS=1 RIDGE_CUDA=$fake DEVICE=CUDA RIDGE_CACHE=0 "$RIDGE" ceilings --dry-run >"$here/cu" 2>&1
    grep -q -e 'compiled object has no function' -e 'NVRTC' "$here/cu" || fail "DEVICE=CUDA: $(cat "$here/cu")"
    ! grep -q 'on generated code' "$here/cu" || fail "a kernel does not compile: $(cat "$here/cu")"
fi

# nothing is written, and the JSON is JSON
"$RIDGE" ceilings --dry-run --json >"$here/a.json" || fail "--dry-run --json failed"
[ ! -e "$here/config" ] || fail "--dry-run wrote a file"
if command -v python3 >/dev/null; then
    python3 - "$here/a.json" <<'END' || fail "the JSON is not as documented"
import json, sys
d = json.load(open(sys.argv[1]))
assert d["file"] is None and d["threads"] >= 1 and d["seconds"] > 0
assert {"what", "unit", "theory", "one", "theory_all", "all", "spread", "how"} == set(d["rows"][0])
assert {"memory read", "L1 copy", "launch"} <= {r["what"] for r in d["rows"]}
assert d["model"]["dram.copy"] > 0 and d["uses"]["f32 memory"] > 0
END
fi

# the machine file: where it was asked for, and then it is the model in use
out=$("$RIDGE" ceilings --output "$here/machine") || fail "--output failed: $out"
case $out in *"written to $here/machine"*) ;; *) fail "does not say what it wrote: $out" ;; esac
case $out in *"memory copy"*"How often a loaded value"*) ;; *) fail "no table: $out" ;; esac
[ ! -e "$here/config" ] || fail "--output wrote the machine's own file too"
grep -q '^dram.copy .*\[' "$here/machine" || fail "no measured value in the file"
RIDGE_MODEL=$here/machine "$RIDGE" opt tests/golden/small/softmax.uop --heuristic >/dev/null || fail "the file is not a model"
"$RIDGE" ceilings --output /dev/null/x >/dev/null 2>&1
[ $? -eq 1 ] || fail "a file that cannot be written is not an error"
# what ranks can exchange
out=$("$RIDGE" run -n 2 -- "$RIDGE" ceilings --world 2>&1) || fail "--world: $out"
case $out in *"2 ranks, backend shm: barrier"*) ;; *) fail "--world does not name its ranks: $out" ;; esac
[ "$(echo "$out" | grep -c '^ *[0-9]* *[0-9.]* us ')" -eq 5 ] || fail "five sizes of all-reduces: $out"
out=$("$RIDGE" ceilings --world 2>&1)
[ $? -eq 1 ] || fail "--world of one rank is not an error"
case $out in *"--world measures ranks, and there is one"*) ;; *) fail "--world of one rank: $out" ;; esac
exit $bad
