#!/bin/sh
# examples/llama, resnet and unet, made small: losses on the CPU are REF's, the caches of llama give the text that they should,
# unet writes a PNG whose checksums hold, and flags say what is wrong with them. (gpt2.sh has GPT-2.)
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD_DIR:-$root/build/release} bad=0
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
unset DEBUG DEVICE NOOPT
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
cd "$root" || exit 1
complain() { echo "examples.sh: $*"; bad=1; }
losses() { grep -ao 'loss [0-9.]*' "$here/$1"; }

small="--steps 3 --batch 1 --context 8 --width 16 --heads 2 --kv-heads 1 --layers 1 --temperature 0.01"
for device in REF CPU; do
    "$build/examples/llama" $small --write 6 --device $device > "$here/$device" 2>&1 || complain "llama: $(tail -2 "$here/$device")"
done
[ "$(losses REF | wc -l)" -eq 3 ] && [ "$(losses REF)" = "$(losses CPU)" ] || complain "llama: losses $(losses REF | tr '\n' ' '), $(losses CPU | tr '\n' ' ')"
grep -av "tokens" "$here/REF" > "$here/1"; grep -av "tokens" "$here/CPU" > "$here/2"
sed -i '/trained in/d' "$here/1" "$here/2"
cmp -s "$here/1" "$here/2" || complain "llama: REF and CPU write different texts"

"$build/examples/resnet" --device REF --steps 1 --batch 2 --size 8 > "$here/out" 2>&1 || complain "resnet: $(tail -2 "$here/out")"
grep -q "loss [0-9]" "$here/out" && grep -q "% of 8 pictures" "$here/out" || complain "resnet: $(tail -2 "$here/out")"

"$build/examples/unet" --device REF --steps 1 --batch 1 --width 8 --walk 1 --png "$here/digits.png" > "$here/out" 2>&1 ||
    complain "unet: $(tail -2 "$here/out")"
if command -v python3 > /dev/null; then
    python3 - "$here/digits.png" << 'P' || complain "unet: not a PNG of 224 x 56"
import struct, sys, zlib
d, at, parts = open(sys.argv[1], "rb").read(), 8, {}
assert d[:8] == b"\x89PNG\r\n\x1a\n"
while at < len(d):
    n, name = struct.unpack(">I4s", d[at:at + 8])
    assert struct.unpack(">I", d[at + 8 + n:at + 12 + n])[0] == zlib.crc32(d[at + 4:at + 8 + n])
    parts[name], at = d[at + 8:at + 8 + n], at + 12 + n
assert struct.unpack(">IIBB", parts[b"IHDR"][:10]) == (224, 56, 8, 0)
rows = zlib.decompress(parts[b"IDAT"])
assert len(rows) == 56 * 225 and not any(rows[::225]) and len(set(rows)) > 50
P
fi

says() { # status, text, program, arguments
    status=$1 text=$2 program=$3
    shift 3
    "$build/examples/$program" "$@" > "$here/out" 2>&1
    [ $? -eq "$status" ] && grep -q -e "$text" "$here/out" || complain "$program $*: expected status $status and \"$text\", found $(tail -1 "$here/out")"
}
says 0 "^usage: llama" llama --help
says 2 "no such flag" unet --depth 3
says 2 "not a number" resnet --batch ten
says 2 "a value is missing" resnet --batch
says 2 "images come with labels" resnet --images x.npy
says 2 "kv-heads" llama --heads 3
says 1 "x.npy" resnet --images x.npy --labels y.npy
says 1 "cannot be read" llama --text nowhere
says 1 "nowhere/train-images" unet --data nowhere
exit $bad
