#!/bin/sh
# A newcomer's twenty questions: one grep for the field's word leads to the file.
out=$("$(dirname "$0")/../../tools/questions") || { echo "$out" | grep 'NOT FOUND'; exit 1; }
