#!/bin/sh
# The bugs that `make test-mutants` plants still fit the sources: a text that was changed there would plant nothing.
exec "$(dirname "$0")/../mutants/run" --fits
