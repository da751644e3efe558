#!/bin/sh
# A newcomer's twenty questions: one grep for the field's word leads to the file, and the file has the word.
out=$("$(dirname "$0")/../../tools/questions" --files) || { echo "$out" | grep 'NOT FOUND'; exit 1; }
