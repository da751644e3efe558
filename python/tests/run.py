#!/usr/bin/env python3
"""Runs the tests of the Python package: `make test-python`, or with PYTHONPATH=build/release/python.

    run.py [--sample] [NAME ..]     --sample: what `make test` runs, on REF unless DEVICE says otherwise: nothing is compiled;
                                    NAME: only tests whose name contains it
Tests against NumPy and PyTorch are skipped, with a reason, where those are not installed.
"""
import os
import sys
import unittest

LONG = ("test_tutorials", "test_random", "test_array_api")  # many kernels are compiled: not in a sample
HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    args = sys.argv[1:]
    sample = "--sample" in args
    names = [a for a in args if not a.startswith("-")]
    os.environ["RIDGE_TEST_DRAWS"] = os.environ.get("RIDGE_TEST_DRAWS", "10" if sample else "200")
    if sample:
        os.environ.setdefault("DEVICE", "REF")
    sys.path.insert(0, HERE)
    suite = unittest.TestSuite()

    def add(s):
        for t in s:
            if isinstance(t, unittest.TestSuite):
                add(t)
            elif sample and t.id().startswith(LONG):
                continue
            elif not names or any(n in t.id() for n in names):
                suite.addTest(t)

    add(unittest.defaultTestLoader.discover(HERE))
    result = unittest.TextTestRunner(verbosity=2 if "-v" in args else 1).run(suite)
    for test, reason in result.skipped[:4]:
        print("skipped %s: %s" % (test.id(), reason))
    print("%d passed, %d failed" % (result.testsRun - len(result.failures) - len(result.errors) - len(result.skipped),
                                    len(result.failures) + len(result.errors)))
    return 0 if result.wasSuccessful() and result.testsRun else 1


sys.exit(main())
