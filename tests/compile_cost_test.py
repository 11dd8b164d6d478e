"""tools/compile_cost times real compilations, keeps the compiler's status, and judges by ratio."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "compile_cost")
loader = importlib.machinery.SourceFileLoader("compile_cost", TOOL)
compile_cost = importlib.util.module_from_spec(importlib.util.spec_from_loader("compile_cost", loader))
loader.exec_module(compile_cost)


class Launcher(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.folder.name, "build", "cost.log")

    def tearDown(self):
        self.folder.cleanup()

    def compile(self, text, *flags):
        source = os.path.join(self.folder.name, "unit.cc")
        with open(source, "w") as f:
            f.write(text)
        env = {**os.environ, "LOCKSTEP_COMPILE_COST_LOG": self.log}
        return subprocess.run([TOOL, "g++", *flags, source, "-o", os.path.join(self.folder.name, "out")], env=env,
                              capture_output=True, text=True)

    def test_a_compilation_is_noted_with_its_time(self):
        self.assertEqual(self.compile("#include <map>\nstd::map<int, int> m;\n", "-c").returncode, 0)
        self.assertEqual(self.compile("int x;\n", "-c").returncode, 0)
        with open(self.log) as f:
            dear, cheap = [json.loads(line)["seconds"] for line in f]
        self.assertGreater(dear, cheap)
        self.assertEqual(len(compile_cost.read_log(self.log)), 1)  # the unit's last compilation counts

    def test_a_failed_compilation_fails_and_is_not_noted(self):
        done = self.compile("this is no C++", "-c")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("error", done.stderr)
        self.assertFalse(os.path.exists(self.log))

    def test_preprocessing_is_not_noted(self):
        self.assertEqual(self.compile("int x;\n", "-E", "-c").returncode, 0)
        self.assertFalse(os.path.exists(self.log))


class Judgement(unittest.TestCase):
    def test_over_the_limit_fails_unless_allowed(self):
        units = {"cheap.cc": 1.0, "edge.cc": 30.0, "dear.cc": 31.0, "dearest.cc": 90.0, "allowed.cc": 80.0}
        over = compile_cost.judge(units, reference=1.0, allow={"allowed.cc": "the one with Beast"})
        self.assertEqual(over, [("dearest.cc", 90.0), ("dear.cc", 31.0)])

    def test_no_allowance_without_a_reason(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write("# comment\nsrc/a.cc\nsrc/b.cc   needs all of Beast\n")
            f.flush()
            self.assertEqual(compile_cost.allowed(f.name), {"src/b.cc": "needs all of Beast"})

    def test_the_list_in_the_tree_names_files_that_exist(self):
        for unit in compile_cost.allowed():
            self.assertTrue(os.path.exists(os.path.join(compile_cost.ROOT, unit)), unit)


if __name__ == "__main__":
    unittest.main()
