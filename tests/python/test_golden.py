#!/usr/bin/env python3
"""The comparison of golden cases sees what it must see, and nothing else.

usage: test_golden.py MESHSIM [unittest arguments]
"""

import importlib.util
import json
import sys
import unittest
from pathlib import Path

PATH = Path(__file__).resolve().parent.parent / "golden" / "golden.py"
SPEC = importlib.util.spec_from_file_location("golden", PATH)
golden = importlib.util.module_from_spec(SPEC)
sys.dont_write_bytecode = True
SPEC.loader.exec_module(golden)

# before, now, whether they count as the same
JSON = [
    ({"a": 1.5}, {"a": 1.5 * (1 + 5e-10)}, True),
    ({"a": 1.5}, {"a": 1.5 * (1 + 5e-9)}, False),
    ({"a": 0}, {"a": 3e-15}, True),
    ({"a": 0}, {"a": 3e-9}, False),
    ({"a": 7}, {"a": 8}, False),
    ({"a": 7}, {"a": 7.000000001}, True),
    ({"a": 58370000000000}, {"a": 58370000000001}, True),
    ({"a": 58370000000000}, {"a": 58380000000000}, False),
    ({"a": True}, {"a": 1}, False),
    ({"a": None}, {"a": 0}, False),
    ({"a": "ring"}, {"a": "tree"}, False),
    ({"a": 1.5}, {"b": 1.5}, False),
    ({"a": 1.5}, {"a": 1.5, "b": 1}, False),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
    ({"a": [1.5, 2.5]}, {"a": [1.5]}, False),
    ({"a": [1.5, 2.5]}, {"a": [1.5, 2.5 * (1 + 1e-12)]}, True),
    ({"a": [{"b": 1.5}]}, {"a": [{"b": 1.6}]}, False),
]
TEXT = [
    ("step 34.6 ms\n", "step 34.6 ms\n", True),
    ("step 34.6 ms\n", "step 34.7 ms\n", True),
    ("step 34.6 ms\n", "step 34.8 ms\n", False),
    ("step 34.6 ms\n", "step 34.6 us\n", False),
    ("597 operations\n", "598 operations\n", False),
    ("rank0.nic 1\n", "rank1.nic 1\n", False),
    ("1.25e-05 s\n", "1.26e-05 s\n", True),
    ("1.25e-05 s\n", "1.25e-04 s\n", False),
    ("a 1.5\n", "a 1.5\nb\n", False),
]


class Comparison(unittest.TestCase):
    def test_json(self):
        for before, now, is_same in JSON:
            with self.subTest(before=before, now=now):
                faults = golden.differences(json.dumps(before), json.dumps(now), "case")
                self.assertEqual(faults == [], is_same, faults)

    def test_text(self):
        for before, now, is_same in TEXT:
            with self.subTest(before=before, now=now):
                self.assertEqual(golden.differences(before, now, "case") == [], is_same)

    def test_volatile_keys_are_left_out(self):
        text = json.dumps({"engine": {"ops": 1, "wall_s": 0.1, "peak_rss_B": 5}, "wall_s": 3})
        kept = json.loads(golden.normalised(text, Path("/nowhere"), []))
        self.assertEqual(kept, {"engine": {"ops": 1}, "wall_s": 3})

    def test_every_shipped_file_has_its_cases(self):
        folder = PATH.parent
        for inputs, prefixes in (("workloads", ("run", "check")), ("platforms", ("platform", "collective"))):
            wanted = {f"{prefix}-{path.stem}" for path in (folder.parent.parent / inputs).glob("*.yaml")
                      for prefix in prefixes}
            missing = [name for name in sorted(wanted) if not (folder / name / "expected").exists()]
            self.assertEqual(missing, [])

    def test_many_differences_are_counted(self):
        faults = golden.differences(json.dumps(list(range(100))), json.dumps(list(range(1, 101))), "case")
        self.assertEqual(len(faults), golden.DIFFERENCES_SHOWN + 1)
        self.assertIn("and 60 more", faults[-1])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    del sys.argv[1]
    unittest.main()
