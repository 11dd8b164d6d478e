"""The rules about files that DESIGN and CONTRIBUTING state: who may include whom, how long a file may be, what
it may be called, and what the pure core may not touch.

The table of src/ROOMS.md is the input: a file includes only from its own room and the rooms in the rows above.
"""
import os
import re
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
MAX_LINES = 500
CODE = (".cc", ".h", ".py", ".sh")
FORBIDDEN_WORDS = {"util", "utils", "helper", "helpers", "manager", "managers", "common"}

# Rooms without I/O, threads, clocks and randomness: the same events give the same actions.
PURE = ("kube/model", "kubelet", "cluster", "gang", "queue", "recovery", "jobs", "explain", "engine")
IMPURE_HEADERS = {"thread", "mutex", "shared_mutex", "condition_variable", "future", "random", "fstream",
                  "filesystem", "iostream", "base/real_loop.h"}
IMPURE_CODE = re.compile(r"\b(steady_clock|system_clock|high_resolution_clock)::now\b|\brand\(|\bgetenv\(|\btime\(nullptr")

# Libraries that only one room sees; what the others need is behind that room's headers.
LIBRARY_ROOMS = {
    "curl/": {"kube/client"},
    "boost/beast": {"net"},
    "boost/asio": {"net"},
    "openssl/": {"net", "kube/client"},
    "yaml-cpp/": {"json"},
    "simdjson.h": {"json", "kube/client"},  # big documents; watch streams
    "CLI/": {"cli"},
    "spdlog/": {"base"},
    "prometheus/": {"web"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def rooms_of(text):
    """The rooms of the table, in order."""
    return re.findall(r"^\| `([a-z/_]+)/` \|", text, re.MULTILINE)


def room_of(path, rooms):
    """The room of a path below src/; the longest name wins (kube/api is not kube)."""
    matches = [room for room in rooms if path.startswith(room + "/")]
    return max(matches, key=len, default=None)


def is_test(path):
    """What is built into tests, benchmarks and fuzz targets only, their headers included."""
    return path.endswith(("_test.cc", "_bench.cc", "_fuzz.cc")) or os.path.basename(path) in ("testing.h", "fixture.h")


def check_include(path, room, bracket, included, rooms, src):
    """The problem with one include, or None."""
    if bracket == "<":
        for prefix, homes in LIBRARY_ROOMS.items():
            if included.startswith(prefix) and room not in homes and not is_test(path):
                return f"includes <{included}>, which only {', '.join(sorted(homes))} may"
    else:
        if not os.path.isfile(os.path.join(src, included)):
            return f'includes "{included}", which is no file of src/ (includes start at src/)'
        other = room_of(included, rooms)
        if other is None:
            return f'includes "{included}", which is in no room'
        if rooms.index(other) > rooms.index(room):
            return f'includes "{included}": {other}/ is below {room}/ in ROOMS.md'
    if room in PURE and included in IMPURE_HEADERS and not is_test(path):
        return f"includes {included}, but {room}/ is pure: no I/O, threads, clock or randomness"
    return None


def source_files(src):
    for folder, _, names in os.walk(src):
        for name in names:
            if name.endswith((".cc", ".h")):
                yield os.path.relpath(os.path.join(folder, name), src)


def include_problems(src):
    rooms = rooms_of(read(os.path.join(src, "ROOMS.md")))
    problems = []
    for path in sorted(source_files(src)):
        room = room_of(path, rooms)
        if room is None:
            problems.append(f"{path}: is in no room of ROOMS.md")
            continue
        text = read(os.path.join(src, path))
        for bracket, included in INCLUDE.findall(text):
            problem = check_include(path, room, bracket, included, rooms, src)
            if problem:
                problems.append(f"{path}: {problem}")
        if path.endswith(".h") and "#pragma once" not in text:
            problems.append(f"{path}: has no #pragma once")
        if room in PURE and not is_test(path) and (found := IMPURE_CODE.search(text)):
            problems.append(f"{path}: {found.group()}, but {room}/ is pure")
    return problems


def file_problems(root, folders=("src", "bench", "tests", "tools", "cmake")):
    problems = []
    for top in folders:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), root)
                words = set(re.split(r"[^a-z]+", path.lower()))
                if words & FORBIDDEN_WORDS:
                    problems.append(f"{path}: says nothing; name it after what it does")
                if name.endswith(CODE) and (lines := read(os.path.join(root, path)).count("\n")) > MAX_LINES:
                    problems.append(f"{path}: {lines} lines, {MAX_LINES} are the limit; split it by ideas")
    return sorted(problems)


class TheTree(unittest.TestCase):
    maxDiff = None

    def test_files_include_only_from_their_own_room_and_rooms_above(self):
        src = os.path.join(ROOT, "src")
        self.assertGreater(len(list(source_files(src))), 10)  # we look at the right folder
        self.assertEqual(include_problems(src), [])

    def test_files_are_short_and_named_after_what_they_do(self):
        self.assertEqual(file_problems(ROOT), [])

    def test_every_room_of_the_cmake_file_is_in_the_table_in_order(self):
        rooms = rooms_of(read(os.path.join(ROOT, "src", "ROOMS.md")))
        built = re.findall(r"^room\(([a-z/_]+)", read(os.path.join(ROOT, "src", "CMakeLists.txt")), re.MULTILINE)
        self.assertGreater(len(built), 10)
        self.assertEqual(built, [room for room in rooms if room in built])


class TheChecks(unittest.TestCase):
    """Each rule, broken once."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.src = os.path.join(self.folder.name, "src")
        table = "\n".join(f"| `{room}/` | a room |" for room in ("base", "kube/api", "audit", "cluster", "engine", "cli"))
        self.write("src/ROOMS.md", table)
        for header in ("base/time.h", "kube/api/api.h", "cluster/world.h", "engine/step.h"):
            self.write(f"src/{header}", "#pragma once\n")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, path, text):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def expect(self, path, text, words):
        self.write(path, text)
        problems = include_problems(self.src) + file_problems(self.folder.name)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(words, problems[0])

    def test_a_clean_tree_has_no_problems(self):
        self.write("src/engine/step.cc", '#include "engine/step.h"\n#include "cluster/world.h"\n#include <vector>\n')
        self.write("src/cli/main.cc", '#include <CLI/CLI.hpp>\n#include <thread>\n#include "engine/step.h"\n')
        self.assertEqual(include_problems(self.src) + file_problems(self.folder.name), [])

    def test_an_include_from_below(self):
        self.expect("src/cluster/a.cc", '#include "engine/step.h"\n', "engine/ is below cluster/")

    def test_the_auditor_shares_nothing_with_what_it_judges(self):
        self.expect("src/audit/a.cc", '#include "cluster/world.h"\n', "cluster/ is below audit/")

    def test_tests_keep_to_the_order_too(self):
        self.expect("src/cluster/a_test.cc", ' #  include "engine/step.h"\n', "engine/ is below cluster/")

    def test_an_include_beside_the_file(self):
        self.expect("src/engine/a.cc", '#include "step.h"\n', "includes start at src/")

    def test_a_folder_that_is_no_room(self):
        self.expect("src/kube/a.cc", "\n", "is in no room")

    def test_a_library_outside_its_room(self):
        self.expect("src/engine/a.cc", "#include <CLI/CLI.hpp>\n", "only cli may")

    def test_a_thread_in_the_core(self):
        self.expect("src/cluster/a.h", "#pragma once\n#include <thread>\n", "cluster/ is pure")

    def test_a_clock_in_the_core(self):
        self.expect("src/engine/a.cc", "auto t = std::chrono::steady_clock::now();\n", "engine/ is pure")

    def test_a_header_without_guard(self):
        self.expect("src/base/a.h", "\n", "#pragma once")

    def test_a_long_file(self):
        self.expect("src/base/a.cc", "\n" * (MAX_LINES + 1), "501 lines")

    def test_a_name_that_says_nothing(self):
        self.expect("src/base/string_utils.cc", "\n", "says nothing")


if __name__ == "__main__":
    unittest.main()
