#!/bin/sh
# Every output of the library and of the command respects what stands at its path: a mode is kept, a link stays, a device or a pipe
# is written into, and what cannot be written is an error. Devices are copies of our own.
. "$(dirname "$0")/common"
export RIDGE_CACHE_DIR="$here/cache"
dot=$build/examples/dot
[ -x "$dot" ] || { echo "the examples are not built"; exit 1; }
kind() { stat -c %F "$1"; }
is() { [ "$(kind "$1")" = "$2" ] || fail "$1 is a $(kind "$1") after $3, not a $2"; }
devices=
mknod -m 666 null c 1 3 2> /dev/null && mknod -m 666 full c 1 7 2> /dev/null && (: > null) 2> /dev/null && devices=1

PROFILE=p "$dot" > out || fail "no profile"
# each output of `ridge report`, at a link to a private file, a pipe, devices and a folder
mkdir folder
for o in html trace perfetto folded csv pprof; do
    rm -f file link pipe
    echo sentinel > file; chmod 600 file; ln -s file link; mkfifo pipe
    "$RIDGE" report p --$o link > screen 2>&1 || fail "--$o link: $(cat screen)"
    is link "symbolic link" "--$o"; is file "regular file" "--$o"
    [ "$(stat -c %a file)" = 600 ] || fail "--$o: the mode became $(stat -c %a file)"
    grep -q sentinel file && fail "--$o: nothing was written"
    cat pipe > got & reader=$!
    "$RIDGE" report p --$o pipe > screen 2>&1 || fail "--$o pipe: $(cat screen)"
    wait $reader
    is pipe fifo "--$o"
    [ "$(wc -c < got)" = "$(wc -c < file)" ] || fail "--$o: $(wc -c < got) bytes came by the pipe, $(wc -c < file) are in the file"
    has 1 "it is a directory" report p --$o folder
    [ "$devices" ] || continue
    has 0 "" report p --$o null
    is null "character special file" "--$o"
    has 1 "No space left on device" report p --$o full
    is full "character special file" "--$o"
done
"$RIDGE" report p --csv /dev/stdout > all || fail "no table on the screen"
grep -q "VERDICT" all && grep -q "dot.c" all || fail "what was printed and what was written to it are not both there: $(head -3 all)"

# recordings
echo old > file; chmod 600 file
PROFILE=link "$dot" > out || fail "PROFILE=link"
is link "symbolic link" PROFILE; [ "$(stat -c %a file)" = 600 ] || fail "PROFILE: the mode became $(stat -c %a file)"
has 0 "dot.c:" report file --by line
cat pipe > got & reader=$!
PROFILE=pipe "$dot" > out || fail "PROFILE=pipe"
wait $reader
is pipe fifo PROFILE
has 0 "dot.c:" report got --by line
FLIGHT=link "$dot" > out || fail "FLIGHT=link"
is link "symbolic link" FLIGHT
has 1 "device or a pipe" profile --out pipe -- "$dot"
is pipe fifo "ridge profile"
if [ "$devices" ]; then
    PROFILE=null "$dot" > out 2>&1 || fail "PROFILE=null: $(cat out)"
    is null "character special file" PROFILE
    PROFILE=full "$dot" > out 2>&1
    grep -q "No space left on device" out || fail "PROFILE=full says nothing: $(cat out)"
    is full "character special file" PROFILE
    has 1 "device or a pipe" profile --out full -- "$dot"
    is full "character special file" "ridge profile"
fi
# names for perf, where a pipe without a reader stands
cat > perf.sh <<END
map=/tmp/perf-\$\$.map
echo "\$map" > map
[ ! -O "\$map" ] || rm -f "\$map" # a process that was killed had this number
mkfifo "\$map" && exec '$dot'
END
trap 'rm -rf "$here" "$(cat "$here/map" 2>/dev/null)"' EXIT
PERFMAP=1 timeout 60 sh perf.sh > out
[ "$(cat out)" = 11 ] || fail "PERFMAP waits for a reader: $(cat out)"
is "$(cat map)" fifo PERFMAP
# a profile that the program did not replace stays
cp p keep
has 1 "recorded nothing" profile --out keep -- true
cmp -s p keep || fail "the old profile is gone"
exit $bad
