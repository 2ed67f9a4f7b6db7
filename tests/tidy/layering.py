#!/usr/bin/env python3
"""The rules of the layout that no compiler checks.

Which folder may include which and opens which namespace, which third-party
header may be seen where, what the pure core must not touch, how long a file may
be, how large a class, and words that do not belong into the project. Debian
installs all headers in the system path, so
CMake cannot keep them apart.

usage: layering.py [ROOT]     prints FILE:LINE: offence; exit 1 if there is any
"""
import functools
import os
import re
import subprocess
import sys

# A folder may include itself and those before it.
FOLDERS = ["runtime", "store", "data", "collectives", "gpu", "monitor", "actors",
           "cli"]
# What users compile against; one folder speaks with what they compile.
PUBLIC = "include"
PUBLIC_SPEAKER = "data"
# Tests that play a folder with the parts of one above it: the conformance of
# collectives holds for NCCL, too.
TESTS_MAY = {"collectives": {"gpu"}}
# The rooms of runtime/, likewise: base knows nobody, the coordinator everybody.
ROOMS = ["base", "inference", "augment", "metrics", "sampling", "graph", "job", "ledger", "placement", "messages", "balance",
         "worker", "coordinator"]
# A folder's names lie in a namespace of its name, those of a test in that of
# what it tests; these folders are the vocabulary of all and stay in `ballast`.
VOCABULARY = ("runtime/base/", "runtime/job/", "runtime/messages/")
# A mirror of its own: what only tests or benchmarks need.
NAMESPACE_OF = {"bench/policies/": "policies", "tests/bench/": "policies",
                "tests/simulation/": "simulation"}
TESTING = "ballast::testing"
# CAF finds inspect() in the namespace of the type that travels.
OPENS_OTHERS = {"actors/protocol.hpp", "actors/inspect_shared.hpp"}
# Python: the harness in tools/ is what bench/ and the tests share.
PYTHON_MAY = {"tools": ["tools"], "bench": ["bench", "tools"],
              "tests": ["tests", "tools"]}
# The thin program must start in milliseconds: it links nothing but these.
THIN = "cli/"
THIN_EXCEPT = ("cli/node/", "cli/commands/")
THIN_MAY = ["runtime", "cli"]

# Third-party headers: pattern -> where it may be included (path prefixes).
# The first pattern that matches counts.
THIRD_PARTY = [
    (r"nlohmann/", [""]),
    (r"ballast/", ["include/", "examples/", "tests/"]),
    (r"stdint\.h", ["include/"]), # plain C
    (r"caf/", ["actors/", "cli/node/", "cli/commands/", "tests/actors/"]),
    (r"(torch|ATen|c10|caffe2)/",
     ["gpu/torch/", "gpu/torch_cuda/", "tests/gpu/torch/", "bench/"]),
    (r"gloo/", ["collectives/", "tests/collectives/", "bench/"]),
    (r"(cuda|cublas|nccl|nvml|driver_types)\w*\.h",
     ["gpu/cuda/", "tests/gpu/cuda/", "bench/"]),
    (r"(prometheus|spdlog)/", ["monitor/", "tests/monitor/"]),
    (r"sqlite3\.h", ["store/", "tests/store/"]),
    (r"httplib\.h", ["monitor/", "cli/", "tests/"]),
    (r"arrow-adbc/", ["data/"]),
    (r"(arrow|parquet)/", ["data/", "tests/data/", "bench/"]),
    (r"(zlib|xxhash|openssl/\w+)\.h", ["data/", "tests/data/"]),
    (r"(turbojpeg|spng|archive|archive_entry)\.h", ["data/", "tests/data/", "bench/"]),
    (r"CLI/", ["cli/", "bench/"]),
    (r"lemon/", ["runtime/"]),
    (r"benchmark/", ["bench/"]),
    (r"(gtest|gmock)/", ["tests/"]),
]
# `ballast doctor` prints the versions of all libraries: these name no code.
VERSION_HEADERS = {"arrow/config.h", "caf/config.hpp", "spdlog/version.h",
                   "sqlite3.h", "gloo/config.h", "zlib.h", "httplib.h"}
VERSION_READERS = ["cli/commands/"]

STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat
charconv chrono cinttypes climits clocale cmath compare complex concepts
condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio
cstdlib cstring ctime cwchar deque exception execution filesystem format
forward_list fstream functional future initializer_list iomanip ios iosfwd
iostream istream iterator latch limits list locale map memory memory_resource
mutex new numbers numeric optional ostream queue random ranges ratio regex
scoped_allocator semaphore set shared_mutex source_location span sstream stack
stdexcept stop_token streambuf string string_view syncstream system_error
thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility
valarray variant vector version""".split())
SYSTEM = re.compile(
    r"(sys|netinet|arpa|linux|net)/\w+\.h$|"
    r"(unistd|fcntl|poll|dlfcn|spawn|glob|netdb|link|elf|sched|malloc|pty|"
    r"signal|stdlib|errno|pthread|termios|dirent|pwd|immintrin|numa|ifaddrs|"
    r"cpuid)\.h$")

# The core decides; it does not look at the world.
PURE = "runtime/"
# They decide nothing; every folder, and the thin program, needs them.
PURE_MAY_CALL_SYSTEM = {"runtime/base/thread_name.cpp", "runtime/base/unique_fd.cpp"}
# Armed by the environment, reached by every thread: rules of its own.
# Threads, for the folders around the core: it may not include them itself.
FOR_OTHERS = {"runtime/base/on_threads.hpp", "runtime/base/on_threads.cpp"}
IMPURE = {"runtime/base/fault_point.cpp"} | FOR_OTHERS
PURE_STANDARD_BANNED = {
    "thread", "mutex", "shared_mutex", "atomic", "condition_variable",
    "future", "stop_token", "semaphore", "latch", "barrier", "random",
    "iostream", "fstream", "unordered_map", "unordered_set"}
PURE_BANNED = [
    (r"\b(steady|system|high_resolution|utc|file)_clock\b",
     "a clock; take the time as an argument"),
    (r"\brandom_device\b|\bmt19937|\bs?rand\s*\(",
     "a source of randomness; use runtime/base/random.hpp"),
    (r"\bstd::(jthread|thread|mutex|atomic|async)\b", "a thread"),
    (r"\bsleep(_for|_until)?\s*\(", "sleeping"),
    (r"\b(getenv|gethostname|getpid)\s*\(", "the environment"),
    (r"\bunordered_(map|set)\b",
     "unordered_map: its order differs between libraries; use map"),
    (r"\b(filesystem|fs)::(exists|is_directory|is_regular_file|current_path|"
     r"absolute|canonical|weakly_canonical|directory_iterator|file_size|status)\s*\(",
     "looking at the file system; paths as text are fine"),
    (r"\bthrow\s+ballast_error\b",
     "throwing ballast_error; return a failure"),
]

# nlohmann's dump throws where a text is no UTF-8.
JSON_WRITER = "runtime/base/json_text.cpp"
JSON_WRITER_EXCEPT = ("tests/", "bench/", JSON_WRITER)

HEADER_LINES_MAX = 200
SOURCE_LINES_MAX = 450
FUNCTION_LINES_MAX = 70
METHODS_MAX = 30  # of a class, public and private, each overload counted
# Files whose long functions are tables, read row by row.
TABLES = {"monitor/metrics/metric_catalogue.cpp", "runtime/base/errors.cpp",
          "runtime/job/job_fields.cpp", "runtime/job/job_fields_data.cpp",
          "runtime/metrics/metric_catalogue.cpp",
          "tests/monitor/event_text_test.cpp",
          "tests/runtime/coordinator/transitions_test.cpp",
          "tests/runtime/job/job_test.cpp",
          "tests/runtime/messages/control_test.cpp",
          "tests/runtime/worker/lifecycle_test.cpp"}
TEST_LINES_MAX = 700  # tables and scenarios of one topic
# Long on purpose: one file from which the whole system can be read.
LINES_MAX_OF = {"actors/protocol.hpp": 260, "runtime/coordinator/run_event.hpp": 300}
SOURCE_ENDINGS = (".cpp", ".cu", ".c", ".cc")
HEADER_ENDINGS = (".hpp", ".cuh", ".h")

# Put together here, so that this file does not hold them itself.
FORBIDDEN_WORDS = [
    ("/wo" + "rk/", "an absolute path of one machine"),
    ("py" + "pi", "the name of a package host"),
    ("../sha" + "red", "a folder that is not part of the project"),
]
NO_TEXT = (".png", ".jpg", ".gz", ".ico", ".parquet", ".arrow", ".pt", ".zip",
           ".safetensors", ".woff2")


def project_files(root):
    """What git would carry; without git, all but build trees."""
    try:
        out = subprocess.run(
            ["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
            capture_output=True, check=True).stdout.decode()
        files = [name for name in out.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        files = []
        for folder, names, here in os.walk(root):
            names[:] = [n for n in names
                        if not n.startswith(".") and n != "build"]
            files += [os.path.relpath(os.path.join(folder, n), root)
                      for n in here]
    return sorted(n for n in files if os.path.isfile(os.path.join(root, n)))


def without_comments(lines):
    """Code only: // comments and strings gone, so that words in them are free.

    /* */ comments do not occur here; tests would say so (the style is //).
    """
    for line in lines:
        yield re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]


def starts_with_any(name, prefixes):
    return any(name.startswith(prefix) for prefix in prefixes)


def in_order(rooms, name, target):
    """Both files lie in known rooms, that of `target` not behind the other."""
    own, other = name.split("/")[1], target.split("/")[1]
    return own in rooms and other in rooms and \
        rooms.index(other) <= rooms.index(own)


def check_own_include(name, target, root):
    top = name.split("/")[0]
    to = target.split("/")[0]
    beside = os.path.join(root, os.path.dirname(name), target)
    if name.startswith("tests/") and "/" not in target and \
            os.path.isfile(beside):
        return  # a fixture beside the test
    if not os.path.isfile(os.path.join(root, target)):
        yield (f'"{target}" is no file of the project; '
               "write includes from the root")
        return
    if name.startswith("tests/"):
        folder = name.split("/")[1]
        if folder in FOLDERS and to in FOLDERS and \
                FOLDERS.index(to) > FOLDERS.index(folder) and \
                to not in TESTS_MAY.get(folder, ()):
            yield f"a test of {folder}/ may not include {to}/"
        return
    if to == "tests":
        yield "nothing but a test may include tests/"
    elif top == PUBLIC_SPEAKER and to == PUBLIC:
        return
    elif top in FOLDERS and to not in FOLDERS:
        yield f"{top}/ may not include {to}/"
    elif top in FOLDERS and FOLDERS.index(to) > FOLDERS.index(top):
        yield f"{top}/ may not include {to}/, which is built on it"
    elif top == PURE[:-1] and target in FOR_OTHERS and name not in FOR_OTHERS:
        yield f"{PURE} is pure: {target} is for those around it"
    elif top == to == PURE[:-1] and not in_order(ROOMS, name, target):
        yield (f"{name.split('/')[1]}/ may not include "
               f"{target.split('/')[1]}/, which is built on it")
    elif name.startswith(THIN) and not name.startswith(THIN_EXCEPT) and \
            to not in THIN_MAY:
        yield (f"the thin program may not include {to}/; what needs it "
               f"belongs into {' or '.join(THIN_EXCEPT)}")


def check_system_include(name, target):
    if target in STANDARD:
        if name.startswith(PURE) and name not in IMPURE and \
                target in PURE_STANDARD_BANNED:
            yield f"{PURE} is pure: <{target}> does not belong here"
        return
    if SYSTEM.match(target):
        if name.startswith(PURE) and \
                name not in PURE_MAY_CALL_SYSTEM | IMPURE:
            yield f"{PURE} is pure: <{target}> does not belong here"
        return
    if target in VERSION_HEADERS and starts_with_any(name, VERSION_READERS):
        return
    for pattern, places in THIRD_PARTY:
        if re.match(pattern, target):
            if not starts_with_any(name, places):
                yield (f"<{target}> may be included in "
                       f"{' '.join(places)} only")
            return
    yield f"<{target}> is not in the table of tests/tidy/layering.py"


def check_source(name, lines, root):
    for number, line in enumerate(lines, 1):
        found = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if not found:
            continue
        check = (check_own_include(name, found[2], root) if found[1] == '"'
                 else check_system_include(name, found[2]))
        for offence in check:
            yield number, offence
    if name.startswith(PURE) and name not in IMPURE:
        for number, line in enumerate(without_comments(lines), 1):
            for pattern, what in PURE_BANNED:
                if re.search(pattern, line):
                    yield number, f"{PURE} is pure: no {what}"
    if not name.startswith(JSON_WRITER_EXCEPT):
        for number, line in enumerate(without_comments(lines), 1):
            if re.search(r"(\.|->)dump\(", line):
                yield number, "dump() throws; use json_text()"
    header = name.endswith(HEADER_ENDINGS)
    limit = LINES_MAX_OF.get(
        name, HEADER_LINES_MAX if header
        else TEST_LINES_MAX if name.startswith("tests/") else SOURCE_LINES_MAX)
    if len(lines) > limit:
        yield len(lines), (f"{len(lines)} lines, at most {limit}: "
                           "one idea per file")
    if header and not name.startswith("tests/"):
        if not lines or not lines[0].startswith("///"):
            yield 1, "a header begins with what it is: a /// comment"
    if header and "#pragma once" not in lines:
        yield 1, "a header needs #pragma once"


def namespace_of(name):
    """The namespace of a file's folder."""
    for folder, own in NAMESPACE_OF.items():
        if name.startswith(folder):
            return f"ballast::{own}"
    name = name.removeprefix("tests/")
    folder, _, rest = name.partition("/")
    if folder == PURE[:-1]:
        folder = rest.partition("/")[0]
    if not rest or name.startswith(VOCABULARY) or folder not in ROOMS + FOLDERS + ["bench"]:
        return "ballast"
    return f"ballast::{folder}"


def namespaces(lines):
    """Yields (line number, namespace, line) of each line in the first column of
    a named namespace; clang-format indents nothing in it, and says at its end
    what it was."""
    opened = []
    for number, line in enumerate(lines, 1):
        found = re.match(r"(?:inline )?namespace ([\w:]*) ?{", line)
        if found:
            opened.append(found[1])
        if opened and all(opened):
            yield number, "::".join(opened), line
        if opened and line.startswith("} // namespace"):
            opened.pop()


def check_namespaces(name, lines):
    """A file opens the namespace of its folder. In another one it may declare
    what it does not include, and specialise a template."""
    own = namespace_of(name)
    may = [own] + ([TESTING] if name.startswith("tests/") else [])
    homes = {f"ballast::{one}" for one in ROOMS + FOLDERS + ["bench"]}
    homes |= {f"ballast::{one}" for one in NAMESPACE_OF.values()} | {TESTING}
    special = False  # within the declaration that follows `template <>`
    for number, space, line in namespaces(lines):
        if space.split("::")[0] != "ballast" or name in OPENS_OTHERS:
            continue
        home = next((one for one in homes
                     if f"{space}::".startswith(f"{one}::")), "ballast")
        inside = home in may
        if inside or not re.match(r"\w", line):
            continue
        if line.startswith("namespace"):
            special = False
        elif line.startswith("template <>"):
            special = True
        elif not special and \
                not re.match(r"(struct|class|enum class) [^{]*;$", line):
            yield number, f"{space}, but its folder's names lie in {own}"


class Types:
    """Where each type of each namespace is defined."""

    def __init__(self):
        self.where = {}

    def check(self, name, lines):
        """Two types of one name in one namespace are undefined behaviour, which
        no linker reports. Those of unnamed namespaces are apart by themselves.
        """
        for number, space, line in namespaces(lines):
            found = re.match(r"(?:struct|class|union|enum(?: class)?) "
                             r"(\w+)\b(?!::|<)[^;]*$", line)
            if not found:
                continue
            key = f"{space}::{found[1]}"
            other = self.where.setdefault(key, name)
            if other != name:
                yield number, f"{key} is a type of {other}, too"


@functools.lru_cache
def python_modules(root, top):
    """What can be imported from somewhere in a folder, by its first word."""
    out = set()
    for folder, names, files in os.walk(os.path.join(root, top)):
        out.update(n[:-3] for n in files if n.endswith(".py"))
        out.update(n for n in names if os.path.isfile(
            os.path.join(folder, n, "__init__.py")))
    return out


def check_python(name, lines, root):
    top = name.split("/")[0]
    may = PYTHON_MAY.get(top, ())
    for number, line in enumerate(lines, 1):
        found = re.match(r"\s*(?:from|import)\s+(\w+)", line)
        for other in PYTHON_MAY if may else ():
            if other in may:
                continue
            if found and found[1] in python_modules(root, other) and \
                    not any(found[1] in python_modules(root, own)
                            for own in may):
                yield number, (f"{top}/ may not import {found[1]} of {other}/; "
                               "what both use belongs into tools/")
            if "sys.path" in line and re.search(rf"\b{other}\b", line):
                yield number, f"{top}/ may not import from {other}/"


def functions(lines):
    """Yields (first line number, count of lines) of each function of a
    namespace; clang-format lets it begin and end in the first column. Those
    within a class are short where the class fits into its file."""
    first = None  # of the declaration under way
    inside = False
    for number, line in enumerate(lines, 1):
        if re.match(r"(public|private|protected):", line):
            continue
        if not inside and re.match(r"[A-Za-z_~]", line):
            if re.match(r"(namespace|struct|class|enum|union|extern|using)\b",
                        line):
                first = None
                inside = (line.rstrip().endswith("{")
                          and not line.startswith(("namespace", "extern")))
            elif not line.startswith("template"):
                first = number
        if not inside and first and line.rstrip().endswith("{"):
            inside = True
        if line.startswith("}"):
            if inside and first:
                yield first, number - first + 1
            first, inside = None, False
        elif not inside and line.rstrip().endswith(";"):
            first = None


def check_functions(name, lines):
    for number, count in functions(lines):
        if count > FUNCTION_LINES_MAX and name not in TABLES:
            yield number, (f"a function of {count} lines, at most "
                           f"{FUNCTION_LINES_MAX}")


CLASS = re.compile(r"(?:^|\n)\s*(?:template\s*<[^;{}]*>\s*)?(?:class|struct)\s+"
                   r"(\w+)(?:\s+final)?\s*(?::[^;{]*)?\{")


def members(code, start):
    """The declarations of the class whose body begins at `start`, without the
    bodies of their own."""
    depth = 0
    now = ""
    for char in code[start:]:
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth < 0:
                return
            if depth == 0:
                yield now
                now = ""
        elif depth == 0 and char == ";":
            yield now
            now = ""
        elif depth == 0:
            now += char


def is_method(member):
    member = re.sub(r"\b(public|private|protected)\s*:|\[\[\w+\]\]", "", member)
    before = None
    while member != before:
        before, member = member, re.sub(r"<[^<>]*>", "", member)
    member = member.strip()
    if re.match(r"(using|friend|static_assert|enum|struct|class)\b", member):
        return False
    if "operator" not in member:
        member = member.split("=")[0]
    return re.search(r"(\w|operator\S{1,3})\s*\(", member) is not None


def check_classes(lines):
    code = "\n".join(without_comments(lines))
    for found in CLASS.finditer(code):
        count = sum(map(is_method, members(code, found.end())))
        if count > METHODS_MAX:
            yield code.count("\n", 0, found.start(1)) + 1, (
                f"class {found[1]} has {count} methods, at most {METHODS_MAX}: "
                "give a part with its state a class of its own")


def check_file(name, root, types):
    """Yields (line number, offence)."""
    if name.endswith(NO_TEXT):
        return
    try:
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        yield 1, "is not UTF-8 text"
        return
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield number, "a tab; use spaces"
        for word, what in FORBIDDEN_WORDS:
            if word in line.lower():
                yield number, f"'{word}': {what}"
    if name.endswith(".py"):
        yield from check_python(name, lines, root)
    if name.endswith(SOURCE_ENDINGS + HEADER_ENDINGS):
        yield from check_source(name, lines, root)
        yield from check_functions(name, lines)
        if not name.startswith("tests/"):
            yield from check_classes(lines)
        yield from check_namespaces(name, lines)
        yield from types.check(name, lines)


def main(root):
    files = project_files(root)
    offences = 0
    types = Types()
    for name in files:
        for number, offence in check_file(name, root, types):
            print(f"{name}:{number}: {offence}")
            offences += 1
    if not any(name.startswith(PURE) for name in files):
        print(f"{root}: no project here")
        return 1
    print(f"{len(files)} files, {offences} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1
                  else os.path.dirname(os.path.dirname(here))))
