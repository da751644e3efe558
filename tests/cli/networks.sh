#!/bin/sh
# Steps of whole networks, planned for an H200 on the stand-in driver, need no more kernels and no more memory than they did: what a
# change to the planner costs elsewhere shows here. Where it is worth that, or saves, write the new figures down. And none of their large
# kernels is left without a list of opts, as attention is that finds q, k and v in an order of axes which no form takes.
. "$(dirname "$0")/common"
networks=$build/bench/networks fake=$build/fake/libcuda.so
[ -x "$networks" ] && [ -e "$fake" ] || { echo "bench/networks is not built: make test does"; exit 77; }
export DEVICE=CUDA RIDGE_CUDA="$fake" RIDGE_NVRTC="$fake" FAKE_GPU_MEMORY=140000 RIDGE_CUPTI=0 RIDGE_CACHE=0

# arguments of bench/networks: kernels, GB
while IFS=: read -r args kernels gb; do
    # shellcheck disable=SC2086
    out=$(DEBUG=3 timeout 300 "$networks" $args 2>&1)
    found=$(printf '%s\n' "$out" | sed -n 's/.*; \([0-9.]*\) GB; \([0-9]*\) kernels.*/\2 \1/p')
    [ -n "$found" ] || { fail "bench/networks $args: expected a line with kernels and GB, found: $(printf '%s\n' "$out" | tail -2)"; continue; }
    echo "$found" | awk -v k="$kernels" -v g="$gb" '{ exit !($1 <= k && $2 <= g * 1.01) }' ||
        fail "bench/networks $args: expected at most $kernels kernels and $gb GB, found ${found% *} and ${found#* }"
    slow=$(printf '%s\n' "$out" | awk '/ opts: none/ { name = $1; next }
        name && match($0, /predicted [0-9.]* us/) { if (substr($0, RSTART + 10) + 0 > 50) print name; } { name = "" }')
    [ -z "$slow" ] || fail "bench/networks $args: expected opts for every kernel of more than 50 us, found none for $slow"
done <<END
gpt2 16 1 bf16:473:11.25
vit 64 1 bf16 forward:90:0.61
vit 64 1 bf16:432:5.60
resnet50 64 1 bf16 forward:95:0.35
unet 32 1 bf16:172:1.16
unet 32 1 bf16 forward:59:0.32
bert 32 1 bf16 forward:90:1.32
gpt2 16 1 bf16 forward:88:3.62
llama 4 1 bf16 forward:289:2.13
llama-1b 1 1 bf16 decode:201:6.84
END
exit $bad
