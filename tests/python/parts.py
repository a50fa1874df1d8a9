"""A test file in parts: with MS_PART=2/4 in the environment it runs every fourth of its tests, from the second on.

A file that takes long imports load_tests from here, which unittest looks for, and has a line `# ctest: 4 parts`;
ctest then has an entry for each part (python.test_x.1 to .4) and runs them side by side.
"""

import os
import unittest


def flat(suite):
    """The single tests of a suite, in their order."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def load_tests(_loader, tests, _pattern):
    """The tests whose turn it is; all of them when MS_PART is not set."""
    part, parts = (int(word) for word in os.environ.get("MS_PART", "1/1").split("/"))
    if not 1 <= part <= parts:
        raise ValueError(f"MS_PART={part}/{parts}")
    mine = list(flat(tests))[part - 1 :: parts]
    if not mine:
        raise ValueError(f"MS_PART={part}/{parts}: no test is left")
    return unittest.TestSuite(mine)
