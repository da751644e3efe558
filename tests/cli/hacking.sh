#!/bin/sh
# The walkthroughs of HACKING.md are true, with what make built; what changes is built without optimization.
. "$(dirname "$0")/walkthrough"
copy
quickly
built
walk HACKING.md 5
exit 0
