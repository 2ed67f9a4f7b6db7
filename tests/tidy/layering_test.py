#!/usr/bin/env python3
"""layering.py finds what it is there to find: each rule is broken once in a
small tree of its own."""
import contextlib
import io
import os
import tempfile
import unittest

import layering

HEADER = "/// What it is.\n#pragma once\n"


class layering_test(unittest.TestCase):
    def offences(self, files):
        with tempfile.TemporaryDirectory() as root:
            files = {"runtime/base/ids.hpp": HEADER, "data/store/chunk.hpp": HEADER,
                     "gpu/model.hpp": HEADER, "include/ballast/operator.h": HEADER,
                     "runtime/coordinator/actions.hpp": HEADER, "monitor/logs/log.hpp": HEADER,
                     "tests/runtime/fixture.hpp": HEADER, **files}
            for name, text in files.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                code = layering.main(root)
            lines = out.getvalue().splitlines()[:-1]
            self.assertEqual(code, 1 if lines else 0)
            return lines

    def assert_found(self, name, text, expected):
        found = self.offences({name: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{name}:"), found)
        self.assertIn(expected, found[0])

    def assert_clean(self, name, text):
        self.assertEqual(self.offences({name: text}), [])

    def test_lower_folders_may_include_higher_ones_only(self):
        self.assert_clean("gpu/a.cpp", '#include "data/store/chunk.hpp"\n')
        self.assert_clean("tests/data/a.cpp", '#include "runtime/base/ids.hpp"\n'
                          '#include "tests/runtime/fixture.hpp"\n')
        self.assert_clean("tests/runtime/a.cpp", '#include "fixture.hpp"\n')
        self.assert_found("data/a.cpp", '#include "gpu/model.hpp"\n',
                          ":1: data/ may not include gpu/")
        self.assert_found("runtime/a.cpp", '\n #  include "data/store/chunk.hpp"\n',
                          ":2: runtime/ may not include data/")
        self.assert_found("tests/data/a.cpp", '#include "gpu/model.hpp"\n',
                          "a test of data/ may not include gpu/")
        self.assert_found("gpu/a.cpp", '#include "tests/runtime/fixture.hpp"\n',
                          "nothing but a test")
        self.assert_found("gpu/a.cpp", '#include "model.hpp"\n',
                          "write includes from the root")

    def test_what_users_include_is_for_one_folder(self):
        header = '#include "include/ballast/operator.h"\n'
        self.assert_clean("data/a.cpp", header)
        self.assert_clean("examples/a.cpp", "#include <ballast/operator.h>\n")
        self.assert_found("gpu/a.cpp", header, "gpu/ may not include include/")
        self.assert_found("data/a.cpp", "#include <ballast/operator.h>\n",
                          "may be included in include/")

    def test_a_class_has_few_methods(self):
        def of(methods):
            return (HEADER + "class wide final : public base<int> {\npublic:\n"
                    "  std::function<void(int)> told; // no method()\n"
                    "  using f = void(int);\n  int a = b(1);\n" +
                    "".join(f"  bool f{i}(int a = g(1)) const {{ return a; }}\n"
                            for i in range(methods // 2)) +
                    "".join(f"  std::vector<int> g{i}(std::function<int(int)>);\n"
                            for i in range(methods - methods // 2)) +
                    "};\nint free();\n")
        self.assert_clean("gpu/a.hpp", of(30))
        self.assert_found("gpu/a.hpp", of(31),
                          ":3: class wide has 31 methods, at most 30")
        self.assert_clean("tests/gpu/a.cpp", of(31))

    def test_benchmarks_and_tests_share_python_in_tools_only(self):
        def importing(name, text):
            # Each tree has a root of its own: nothing is remembered of others.
            return self.offences({
                "tests/end_to_end/takeover.py": "",
                "tests/end_to_end/recovery.py": "", "bench/recovery.py": "",
                "bench/lib/__init__.py": "", "bench/lib/figures.py": "",
                "tools/harness/__init__.py": "", name: text})
        for name in ("bench/a.py", "tests/end_to_end/a.py", "tools/harness/a.py"):
            self.assertEqual(importing(
                name, "import os\nfrom harness.jobs import merged\n"), [])
        self.assertEqual(importing("bench/a.py", "import recovery\n"
                                   "from lib import figures\n"), [])
        self.assertEqual(importing("tests/end_to_end/a.py",
                                   "from takeover import Takeover\n"), [])
        self.assertIn("bench/a.py:2: bench/ may not import takeover of tests/",
                      importing("bench/a.py", "\n  import takeover\n")[0])
        path = 'sys.path.append(join(ROOT, "tests", "end_to_end"))\n'
        self.assertIn("may not import from tests/",
                      importing("bench/a.py", path)[0])
        self.assertIn("tests/ may not import lib of bench/", importing(
            "tests/end_to_end/a.py", "from lib import figures\n")[0])
        self.assertIn("tools/ may not import recovery of bench/", importing(
            "tools/harness/a.py", "import recovery\n")[0])

    def test_functions_are_short(self):
        body = "  a();\n" * 69
        self.assert_clean("gpu/a.cpp", "void f(int a,\n    int b) {\n" +
                          body[:-14] + "}\n")
        self.assert_found("gpu/a.cpp", "int x;\n\nvoid f(int a,\n    int b) {\n"
                          + body + "}\n", ":3: a function of 72 lines")
        self.assert_clean("gpu/a.cpp", "class a final : b {\npublic:\n"
                          + body.replace("a()", "int a") + "};\n")
        self.assert_clean("runtime/base/errors.cpp", "int f() {\n" + body * 2
                          + "}\n")

    def test_json_is_written_in_one_place(self):
        self.assert_clean("runtime/base/json_text.cpp", "a.dump(1);\n")
        self.assert_clean("tests/data/a.cpp", "a.dump();\n")
        self.assert_clean("data/a.cpp", "// a.dump() throws\n")
        self.assert_found("data/a.cpp", "a\n    .dump();\n", "json_text()")

    def test_rooms_of_the_core_are_in_order(self):
        self.assert_clean("runtime/ledger/a.cpp",
                          '#include "runtime/base/ids.hpp"\n')
        self.assert_found("runtime/ledger/a.cpp",
                          '#include "runtime/coordinator/actions.hpp"\n',
                          "ledger/ may not include coordinator/")

    def test_a_namespace_for_each_folder(self):
        def within(space, text="struct a {\n};\n"):
            return f"namespace {space} {{\n\n{text}\n}} // namespace {space}\n"
        for name, space in [("runtime/base/a.cpp", "ballast"),
                            ("runtime/job/a.cpp", "ballast"),
                            ("runtime/messages/a.cpp", "ballast"),
                            ("runtime/ledger/a.cpp", "ballast::ledger"),
                            ("gpu/torch/a.cpp", "ballast::gpu"),
                            ("cli/node/a.cpp", "ballast::cli::inner"),
                            ("bench/a.cpp", "ballast::bench"),
                            ("bench/policies/a.cpp", "ballast::policies"),
                            ("tests/runtime/ledger/a.cpp", "ballast::ledger"),
                            ("tests/gpu/cuda/a.cpp", "ballast::testing"),
                            ("tests/simulation/a.cpp", "ballast::simulation"),
                            ("data/a.cpp", "arrow")]:
            self.assert_clean(name, within(space))
        for name, space in [("runtime/ledger/a.cpp", "ballast"),
                            ("runtime/base/a.cpp", "ballast::base"),
                            ("runtime/ledger/a.cpp", "ballast::balance"),
                            ("gpu/torch/a.cpp", "ballast::torch"),
                            ("gpu/a.cpp", "ballast::testing"),
                            ("tests/gpu/a.cpp", "ballast::data")]:
            self.assert_found(name, within(space),
                              f":3: {space}, but its folder's names lie in")
        # What is declared there, or specialised, has its home elsewhere.
        self.assert_clean("gpu/a.cpp", within("ballast::data", "class a;\n"))
        self.assert_clean("gpu/a.cpp", within(
            "ballast", "template <>\nconstexpr auto words_of<a> =\n    1;\n"))
        self.assert_clean("actors/protocol.hpp", HEADER + within("ballast"))

    def test_a_name_has_one_type_in_a_namespace(self):
        def both(first, second):
            return self.offences({"gpu/a.cpp": first, "gpu/torch/b.cpp": second})
        def within(text, space="ballast::gpu"):
            return f"namespace {space} {{\n{text}\n}} // namespace {space}\n"
        for one in ("struct cost {", "class cost final : public a {",
                    "enum class cost : int {", "template <class T>\nclass cost {"):
            found = both(within("struct cost {\n};"), within(one + "\n};"))
            self.assertEqual(len(found), 1, found)
            self.assertIn("ballast::gpu::cost is a type of gpu/a.cpp, too",
                          found[0])
        for other in ("struct cost;", "struct cost::inner {\n};",
                      "namespace {\nstruct cost {\n};\n} // namespace"):
            self.assertEqual(both(within("struct cost {\n};"), within(other)), [])
        self.assertEqual(both(within("struct cost {\n};"), within(
            "struct cost {\n};", "ballast::gpu::inner")), [])

    def test_thin_program_links_only_the_core(self):
        self.assert_clean("cli/node/a.cpp", '#include "data/store/chunk.hpp"\n')
        self.assert_found("cli/a.cpp", '#include "monitor/logs/log.hpp"\n',
                          "the thin program may not include monitor/")

    def test_third_party_headers_stay_in_their_folder(self):
        for name, header in [("actors/a.cpp", "caf/all.hpp"),
                             ("gpu/torch/a.cpp", "torch/torch.h"),
                             ("collectives/a.cpp", "gloo/context.h"),
                             ("data/a.cpp", "arrow/api.h"),
                             ("store/a.cpp", "sqlite3.h"),
                             ("cli/a.cpp", "httplib.h"),
                             ("cli/node/a.cpp", "caf/all.hpp"),
                             ("cli/commands/a.cpp", "arrow/config.h"),
                             ("runtime/a.cpp", "nlohmann/json.hpp"),
                             ("gpu/a.cpp", "sys/socket.h")]:
            self.assert_clean(name, f"#include <{header}>\n")
        for name, header in [("runtime/a.cpp", "caf/all.hpp"),
                             ("gpu/a.cpp", "torch/torch.h"),
                             ("gpu/a.cpp", "gloo/context.h"),
                             ("gpu/a.cpp", "arrow/api.h"),
                             ("actors/a.cpp", "sqlite3.h"),
                             ("data/a.cpp", "httplib.h"),
                             ("cli/a.cpp", "caf/all.hpp"),
                             ("cli/node/a.cpp", "arrow/api.h"),
                             ("actors/a.cpp", "prometheus/counter.h"),
                             ("monitor/a.cpp", "gtest/gtest.h")]:
            self.assert_found(name, f"#include <{header}>\n", "only")
        self.assert_found("data/a.cpp", "#include <boost/any.hpp>\n",
                          "not in the table")

    def test_core_is_pure(self):
        for code in ["auto t = std::chrono::steady_clock::now();",
                     "std::chrono::system_clock::time_point t;",
                     "std::random_device d;", "int i = rand();",
                     "std::mutex m;", "std::thread t;",
                     "std::this_thread::sleep_for(x);",
                     'auto home = std::getenv("HOME");',
                     "std::unordered_map<int, int> m;",
                     "bool b = std::filesystem::exists(path);",
                     "throw ballast_error(errc::usage, x);"]:
            self.assert_found("runtime/a.cpp", code + "\n", "is pure: no ")
            self.assert_clean("data/a.cpp", code + "\n")
        for header in ["thread", "mutex", "random", "unistd.h", "fstream"]:
            self.assert_found("runtime/a.cpp", f"#include <{header}>\n",
                              "is pure: <")
        for name in layering.PURE_MAY_CALL_SYSTEM:
            self.assert_clean(name, "#include <unistd.h>\n")
            self.assert_found(name, "#include <thread>\n", "is pure: <")
        self.assert_clean("runtime/a.cpp", "// no steady_clock here\n"
                          'auto s = "rand(";\nint operand(int);\n')

    def test_threads_are_for_those_around_the_core(self):
        tool = {"runtime/base/on_threads.hpp": HEADER}
        line = '#include "runtime/base/on_threads.hpp"\n'
        self.assertEqual(self.offences({**tool, "data/a.cpp": line}), [])
        found = self.offences({**tool, "runtime/a.cpp": line})
        self.assertEqual(len(found), 1, found)
        self.assertIn("is pure: runtime/base/on_threads.hpp", found[0])

    def test_files_are_short_and_headers_say_what_they_are(self):
        self.assert_clean("data/a.cpp", "\n" * layering.SOURCE_LINES_MAX)
        self.assert_found("data/a.cpp", "\n" * 451, "451 lines")
        self.assert_clean("tests/data/a.cpp", "\n" * 700)
        self.assert_found("tests/data/a.cpp", "\n" * 701, "701 lines")
        self.assert_clean("data/a.hpp", HEADER + "\n" * 198)
        self.assert_found("data/a.hpp", HEADER + "\n" * 199, "201 lines")
        self.assert_found("data/a.hpp", "#pragma once\n", "a /// comment")
        self.assert_found("data/a.hpp", "/// What.\n", "#pragma once")

    def test_no_tabs_and_no_words_from_elsewhere(self):
        self.assert_found("docs/a.md", "x\n\ty\n", ":2: a tab")
        for word, _ in layering.FORBIDDEN_WORDS:
            self.assert_found("docs/a.md", f"see {word.upper()}x\n", word)

    def test_an_empty_folder_is_no_success(self):
        with tempfile.TemporaryDirectory() as root:
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(layering.main(root), 1)


if __name__ == "__main__":
    unittest.main()
