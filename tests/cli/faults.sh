#!/bin/bash
# A short run of tests/faults/faults.sh, which `make test-faults` runs whole.
exec "$(dirname "$0")/../faults/faults.sh" 5
