#!/bin/sh
# What a stranger tries first: nonsense, files that are not there or are something else, folders that cannot be written, devices
# that do not exist. Each is one message that says what was found and what to do, and an exit status; nothing else is printed.
. "$(dirname "$0")/common"
RIDGE_CACHE_DIR=$here/cache RIDGE_THREADS=1
export RIDGE_CACHE_DIR RIDGE_THREADS
small=$root/tests/golden/small
program=$build/examples/dot

# one STATUS WORDS ARGS..: the status, one line on stderr with the words in it, nothing on stdout
one() {
    want=$1 words=$2
    shift 2
    "$RIDGE" "$@" > "$here/stdout" 2> "$here/stderr"
    got=$?
    out=$(cat "$here/stderr")
    [ $got -eq "$want" ] || fail "ridge $*: exit status $got, expected $want: $out"
    case $out in *"$words"*) ;; *) fail "ridge $*: expected '$words' in: $out" ;; esac
    [ "$(wc -l < "$here/stderr")" -eq 1 ] || fail "ridge $*: expected one line of error: $out"
    [ ! -s "$here/stdout" ] || fail "ridge $*: an error, and yet: $(cat "$here/stdout")"
}

mkdir folder
: > empty
echo hello > text
head -c 300 "$small/softmax.uop" > cut.uop

# numbers out of range, named with what was given
one 2 "--runs expects 1 to 1000000, found 0; see" opt --time --runs 0 "$small/softmax.uop"
one 2 "--threads expects 1 to 4096, found 0" opt --run --threads 0 "$small/softmax.uop"
one 2 "--random-opts expects 0 or more, found -5" opt --random-opts -5 "$small/softmax.uop"
one 2 "--print expects NAME or NAME:N, found 'out:x'" opt --print out:x "$small/softmax.uop"
one 2 "--print expects NAME or NAME:N, found 'out:-1'" opt --print out:-1 "$small/softmax.uop"
one 2 "--beam expects 1 to 256, found 0" tune --beam 0 "$small/softmax.uop"
one 2 "--rows expects 0 or more, found -1" tune --rows -1 --show
one 2 "--rows expects 1 or more, found 0" kernels --rows 0
one 2 "--rows expects 1 or more, found 0" report --rows 0 x
one 2 "--rows expects 1 or more, found 0" diff --rows 0 a b
one 2 "--skip expects 0 to 1000000, found -1" diff --skip -1 a b
one 2 "--rows expects 1 to 1000000, found 0" estimate --rows 0 --machine "$root/tests/machine.txt" -- "$program"
one 2 "--line expects 1 to 1048576, found 0" shape --line 0 1 1 1
one 2 "--per-sm expects 1 to 64, found -1" shape --per-sm -1 1 1 1
one 2 "--ms expects 1 to 60000, found 0" explore --ms 0 overhead
one 2 "--size expects 1 to 4294967296, found 0" explore --size 0 intensity
one 2 "--to expects 10 to 16384, found 5" explore --from 10 --to 5 shapes
one 2 "--step expects 1 or more, found 0" explore --step 0 shapes

# names of things inside a file: the message has those there are
one 1 "'nope' is no pass that ran; expected all, verify, opts, finalize-axes, block-sums, loop-tree" opt --dump nope "$small/softmax.uop"
one 1 "holds no kernel called 'zig'; it holds softmax" opt --kernel zig "$small/softmax.uop"
one 1 "no buffer is called 'zig'; there are" opt --print zig "$small/softmax.uop"

# files
for c in "opt" "tune" "rules --hits"; do
    # shellcheck disable=SC2086
    {
        one 1 "cannot open missing.uop: No such file" $c missing.uop
        one 1 "cannot read folder: Is a directory" $c folder
        one 1 "empty holds no kernel; expected \`kernel NAME\`" $c empty
        one 1 "text:1:1: expected \`kernel NAME\`" $c text
        one 1 "cut.uop:" $c cut.uop
    }
done
for c in report diagnose kernels; do
    [ $c = kernels ] || one 1 "ridge $c: missing: cannot be opened: No such file" $c missing
    one 1 "ridge $c: folder: it is a directory; expected a trace file" $c folder
    one 1 "ridge $c: empty: the file is empty" $c empty
done
one 1 "there is no ridge.profile here; name a profile" kernels
one 1 "there is no file missing, and no ridge.profile" kernels missing
one 1 "the file is empty; expected 'ridge-machine 1'" estimate --machine empty -- "$program"

# programs
for c in profile kernels tune "estimate --machine $root/tests/machine.txt"; do
    # shellcheck disable=SC2086
    {
        one 127 "cannot run ./missing: No such file" $c -- ./missing
        one 127 "cannot run missing: No such file or directory; it is not in PATH" $c -- missing
        one 127 "cannot run ./text: Permission denied" $c -- ./text
    }
done
one 1 "cannot write folder: it is a directory" profile --out folder -- "$program"
one 1 "cannot create nowhere/x: No such file" profile --out nowhere/x -- "$program"
has 1 "cannot create nowhere/page: No such file" profile --html nowhere/page -- "$program"
has 0 "nothing was searched for: true is no Ridge program" tune -- true

# what is found can be kept, or is not searched for
RIDGE_CACHE=0 one 1 "could not be kept: RIDGE_CACHE=0 switches the cache off" tune "$small/softmax.uop"
RIDGE_CACHE_DIR=$here/text one 1 "could not be kept: kernels are not kept on disk: the cache directory $here/text is not used: it is not a directory" tune "$small/softmax.uop"
RIDGE_CACHE_DIR=$here/text one 1 "could not be kept" tune -- "$program"
"$RIDGE" tune --beam 1 "$small/softmax.uop" > /dev/null || fail "a search failed"
one 1 "no kernel that was searched for is called 'zig'; \`ridge tune --show\` lists them" tune --show --kernel zig
[ -z "$(ls cache/ridge-v3/tmp)" ] || fail "the trial file is still there"
# a disk that is full, where this user may mount one
mkdir -m 700 disk
if mount -t tmpfs -o size=64k,mode=700 tmpfs disk 2> /dev/null; then
    RIDGE_CACHE_DIR=$here/disk one 1 "No space left on device" tune "$small/softmax.uop"
    RIDGE_CACHE_DIR=$here/disk has 0 "check ok" opt --check "$small/softmax.uop"
    umount disk
fi

# what the environment names
TMPDIR=$here/nowhere RIDGE_CACHE=0 one 1 "cannot create a directory in $here/nowhere: No such file or directory; set TMPDIR to another folder" opt --run "$small/softmax.uop"
printf 'kernel g\nx = (BUFFER<f32>[0] 4)\n(GRAPH (ADD x x))\n' > graph.uop
RIDGE_MODEL=$here/text one 1 "the machine file that RIDGE_MODEL names: $here/text:1: expected 'ridge-machine 1', found 'hello'" opt graph.uop
RIDGE_MODEL=nowhere one 1 "RIDGE_MODEL names: cannot open nowhere: No such file" opt graph.uop

# devices
for name in NOPE CPU:9 'CPU CUDA'; do
    export DEVICE="$name"
    one 1 "no device is called \"$name\"; there are CPU, CUDA" opt --run "$small/softmax.uop"
    one 1 "no device is called \"$name\"; there are CPU, CUDA" tune "$small/softmax.uop"
    one 1 "no device is called \"$name\"; there are CPU, CUDA" explore overhead
    one 1 "no device is called \"$name\"; there are CPU, CUDA" ceilings
    has 1 "no device is called \"$name\"" doctor
done
export DEVICE=CUDA RIDGE_CUDA=$here/no-driver
for c in "tune $small/softmax.uop" "explore overhead" "ceilings"; do
    # shellcheck disable=SC2086
    one 1 "$here/no-driver" $c
done
has 1 "fail  CUDA" doctor
has 0 "kernels run on the CPU; DEVICE=CUDA is not used here" opt --run "$small/softmax.uop"
export DEVICE=OPENCL RIDGE_OPENCL=$here/no-loader
one 1 "$here/no-loader" explore overhead
has 1 "fail  OpenCL" doctor
unset DEVICE RIDGE_CUDA RIDGE_OPENCL

# what was printed into nothing was not printed
if [ -c /dev/full ]; then
    for c in version --help rules "shape 1 1 1" "opt --run $small/softmax.uop"; do
        # shellcheck disable=SC2086
        "$RIDGE" $c > /dev/full 2> stderr && fail "ridge $c: printed to a full disk, and yet status 0"
        grep -q "could not all be written: No space left on device" stderr || fail "ridge $c > /dev/full: $(cat stderr)"
    done
fi
exit $bad
