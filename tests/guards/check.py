#!/usr/bin/env python3
"""The guards find what they are there to find: small trees, each with one breach, and one without any."""

import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "scripts"
ROOMS = ["base", "cluster", "model", "collective", "schedule", "job", "estimate", "simulate", "trace", "search", "cli"]
ORDER = f"    {' <- '.join(ROOMS)}\n"
TABLE = "".join(f"| `sim/{room}` | holds it |\n" for room in ROOMS)


def drawing(*arrows):
    """A page with a drawing of the rooms, in which "own included" has a mark."""
    rows = (" ".join([*("o" if f"{own} {one}" in arrows else " " for one in ROOMS[:place]), own]) for place, own in enumerate(ROOMS))
    return ORDER + "\n" + "".join(f"    {row}\n" for row in rows) + f"\n{TABLE}"


DRAWN = drawing("model cluster")
CLEAN = {
    "CONTRIBUTING.md": DRAWN,
    "sim/cluster/mesh/mesh.h": "/**\n * @file\n * Meshes.\n */\n#include \"cluster/platform/platform.h\"\n\n"
                              "/** One.  Returns MS_OK. */\nms_status ms_one(int a, int *sum_out);\n",
    "sim/cluster/platform/platform.h": "/**\n * @file\n * Platforms.\n */\n\n/** Two, three. */\nint ms_two(void);\n"
                                  "int ms_three(void);\n",
    "include/meshsim/face.h": "/**\n * @file\n * The face.\n */\n\n/** One. */\nint ms_face(void);\n",
    "sim/cluster/mesh/mesh.c": '#include "cluster/mesh/own.h"\n\n'
                       'int ms_one(int a, int *sum_out) {\n    ms_x_free(own); /* free(a) */\n    return g();\n}\n',
    "sim/cluster/mesh/own.h": "/* Its own. */\nenum { MS_OK };\nextern int own;\nint g(void);\ntypedef struct ms_axis {\n    int size;\n} ms_axis;\n",
    "sim/cluster/mesh/leaf.c": "int g(void) {\n    return 1;\n}\n",
    "sim/model/model.c": '#include "cluster/mesh/mesh.h"\n',
    "sim/base/config/yaml.c": "#include <yaml.h>\n",
    "sim/simulate/engine/bridge.cpp": "#include <simgrid/s4u.hpp>\n",
    "tests/golden/case/case": "command: help\n",
    "tests/golden/case/expected": "",
    "tests/unit/cluster/mesh/test_mesh.c": "Test(mesh, one) {\n    ms_one(1, NULL);\n}\n",
}
CLEAN.update({f"sim/{room}/room.md": "A room; `mesh.c`, `sim/cluster/mesh/`, `tests/unit/<room>/` and `ms_one` exist.\n" for room in ROOMS})
LONG = "void f(void) {\n" + "    x();\n" * 80 + "}\n"
# guard, file, text, what it must complain of
BREACHES = [
    ("check_layers", "sim/cluster/mesh/a.c", '#include "model/model.h"\n', "sim/cluster/mesh/a.c:1: model stands above cluster/mesh"),
    ("check_layers", "sim/model/a.c", '\n#include "schedule/schedule.h"\n', "sim/model/a.c:2: schedule stands above model"),
    ("check_layers", "sim/cli/a.c", '#include "cluster/mesh/own.h"\n', "a private header of cluster/mesh"),
    ("check_layers", "sim/cluster/mesh/a.c", '#include "own.h"\n', "named by their path"),
    ("check_layers", "sim/cluster/platform/platform.h", '#include "cluster/mesh/mesh.h"\n', "cluster/mesh stands above cluster/platform"),
    ("check_layers", "include/meshsim/wide.h", '#include "model/model.h"\n', "has no headers but include/meshsim/"),
    ("check_layers", "sim/model/a.c", "#include <meshsim/face.h>\n", "is for programs that use the library"),
    ("check_layers", "sim/unheard/a.c", "\n", "in no room"),
    ("check_layers", "sim/base/config/other.c", "#include <yaml.h>\n", "yaml.h in more than one file"),
    ("check_layers", "sim/cluster/mesh/a.c", "#include <yaml.h>\n", "one file of sim/base/config only"),
    ("check_layers", "sim/trace/report/a.c", "#include <hdf5.h>\n", "sim/trace only"),
    ("check_layers", "sim/trace/report/a.c", "#include <zlib.h>\n", "sim/trace/report/gzip.c and sim/search/recorded/read.c only"),
    ("check_layers", "sim/search/a.c", "#include <sqlite3.h>\n", "sim/search/store/sqlite.c and sqlite_row.h only"),
    ("check_layers", "sim/simulate/engine/a.c", "#include <simgrid/engine.h>\n", "bridge.cpp only"),
    ("check_layers", "sim/simulate/engine/other.cpp", "\n", "C++ in sim/simulate/engine/bridge.cpp only"),
    ("check_layers", "sim/cluster/mesh/a.c", "void f(void) {\n    p = malloc(3);\n}\n", "sim/cluster/mesh/a.c:2: malloc() outside"),
    ("check_layers", "sim/cluster/mesh/a.c", "void f(void) { free(p); }\n", "free() outside"),
    ("check_layers", "sim/simulate/run/a.c", "\n/* ms_value */\nms_value_add_int(tree, key, 1);\n", "sim/simulate/run/a.c:3: ms_value_add_int: no result tree"),
    ("check_layers", "sim/cluster/mesh/mesh.h", "void ms_add(ms_value *parent);\n", "no result tree below trace"),
    ("check_layers", "CONTRIBUTING.md", ORDER, "no drawing of the rooms"),
    ("check_layers", "CONTRIBUTING.md", DRAWN.replace(f"    {'  ' * 7}simulate\n", ""), "CONTRIBUTING.md:3: the drawing lacks the room 'simulate'"),
    ("check_layers", "CONTRIBUTING.md", DRAWN.replace("simulate\n", "imitate\n"), "the drawing has 'imitate', which is no room"),
    ("check_layers", "CONTRIBUTING.md", drawing("model cluster", "cli base"), "says that cli includes base, and no file does"),
    ("check_layers", "CONTRIBUTING.md", DRAWN.replace("o model\n", ". model\n"), "the drawing has another order or other marks"),
    ("check_layers", "CONTRIBUTING.md", DRAWN[len(ORDER):], "CONTRIBUTING.md:1: the order of the rooms is"),
    ("check_layers", "sim/simulate/lower/a.c", '\n#include "cluster/mesh/mesh.h"\n', "the drawing lacks that simulate includes cluster: sim/simulate/lower/a.c:2"),
    ("check_layers", "CONTRIBUTING.md", DRAWN.replace("`sim/estimate`", "`estimate`"), "the table of folders lacks estimate"),
    ("check_size.py", "sim/cluster/mesh/a.c", LONG, "f has 82 lines"),
    ("check_size.py", "tests/unit/cluster/mesh/a.c", LONG.replace("void f(void)", "Test(mesh, f)"), "has 82 lines"),
    ("check_size.py", "sim/cluster/mesh/a.c", "int f(int a, int b, int c, int d, int e, int g) {\n}\n", "f has 6 parameters"),
    ("check_size.py", "include/meshsim/x.h", "int f(int a, int b, int c, int d, int e, int *g);\n", "f has 6 parameters"),
    ("check_size.py", "sim/cluster/mesh/a.c", "int a;\n" * 1001, "1001 lines, limit 1000"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\nint ms_a(void);\n", "x.h:2: ms_a has no comment"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\n\n/**  */\nint ms_a(void);\n", "ms_a has no comment"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\n\n/** A. */\nint ms_a(void);\n\nint ms_b(void);\n", "ms_b has no comment"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\n\n/** A. */\nms_status ms_a(void);\n", "does not say what it returns"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\n\nstatic inline int ms_a(void) {\n    return 1;\n}\n", "ms_a has no comment"),
    ("check_docs.py", "include/meshsim/x.h", "/** A. */\nint ms_a(void);\n", "does not open with"),
    ("check_docs.py", "sim/model/x.h", "/** @file A. */\n\nint ms_a(void);\n", "sim/model/x.h:3: ms_a has no comment"),
    ("check_docs.py", "sim/cluster/mesh/a.c", "\n/* As sim/model/gone.c has it. */\n", "sim/cluster/mesh/a.c:2: there is no sim/model/gone.c"),
    ("check_docs.py", "scripts/build", "# What tests/unit/<room>/gone_*.c are.\n", "scripts/build:1: there is no tests/unit/<room>/gone_*.c"),
    ("check_docs.py", "sim/cluster/mesh/note.md", "As\n`gone.c` has it.\n", "sim/cluster/mesh/note.md:2: no file is called gone.c"),
    ("check_docs.py", "sim/cluster/mesh/note.md", "It is said in gone.md.\n", "sim/cluster/mesh/note.md:1: no file is called gone.md"),
    ("check_docs.py", "sim/cluster/mesh/own.h", "/* As ms_gone does. */\n", "sim/cluster/mesh/own.h:1: no code has ms_gone"),
    ("check_docs.py", "sim/cluster/mesh/note.md", "| a |\n\nIt ends" + 12 * " too late" + " here.\n", "sim/cluster/mesh/note.md:3: a line of 121 columns"),
    ("check_structure", "sim/cluster/platform/a.c", "typedef struct ms_axis {\n    int a;\n} ms_axis;\n",
     "sim/cluster/platform/a.c:1: 'ms_axis' is a type of sim/cluster/mesh/own.h:5 as well"),
    ("check_structure", "sim/cluster/mesh/a.c", "struct wide {\n" + "    int *a, b[2];\n" * 10 + "    int c;\n};\n",
     "sim/cluster/mesh/a.c:1: 'wide' has 21 fields, more than 20"),
    ("check_structure", "sim/search/a.c", 'void f(void) {\n    p("schedule.v=%d", 2);\n}\n',
     'sim/search/a.c:2: "schedule.v=%d": hand values over as what they are'),
    ("check_structure --build build", "sim/cluster/mesh/leaf.c", "int ms_one();\nint g(void) {\n    return ms_one(1);\n}\n",
     "sim/cluster/mesh/leaf.c:1: calls each other in a circle: sim/cluster/mesh/leaf.c, sim/cluster/mesh/mesh.c"),
    ("check_structure --build build", "sim/cluster/mesh/a.c", "\nint unused(void) {\n    return 1;\n}\n",
     "sim/cluster/mesh/a.c:2: only this file uses 'unused': make it static"),
    ("check_structure --build build", "sim/cluster/platform/a.c", "\nint ms_one(int x) {\n    return x;\n}\n",
     "sim/cluster/platform/a.c:2: 'ms_one' is defined in sim/cluster/mesh/mesh.c:"),
    ("check_structure --build nowhere", "sim/cluster/mesh/a.c", "", "is that a build folder?"),
]
GUARDS = ["check_layers", "check_size.py", "check_docs.py", "check_structure", "check_structure --build build"]


def compile_room(root, room, folder):
    """The objects of a folder's files, where a build of the project would have them."""
    for source in (root / "sim" / folder).glob("*.c"):
        built = root / "build" / "CMakeFiles" / f"ms_{room}.dir" / "sim" / folder / f"{source.name}.o"
        built.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-w", "-c", "-I", root / "sim", "-I", root / "include", "-o", built, source], check=True)


def run_guard(guard, extra):
    """(exit code, output) of a guard over the clean tree with some files added, replaced or (None) left out."""
    with tempfile.TemporaryDirectory(prefix="meshsim-guards-") as name:
        root = Path(name)
        for path, text in {**CLEAN, **extra}.items():
            if text is None:
                continue
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        script, *options = guard.split()
        if "--build" in options:
            for folder in ("cluster/mesh", "cluster/platform"):
                compile_room(root, "cluster", folder)
        done = subprocess.run([sys.executable, SCRIPTS / script, *options, root], cwd=root, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def main():
    failures = 0
    for guard in GUARDS:
        code, output = run_guard(guard, {})
        if code != 0:
            failures += 1
            print(f"{guard} complains of a clean tree:\n{output}")
    for guard, path, text, complaint in BREACHES:
        code, output = run_guard(guard, {path: text})
        if code != 1 or complaint not in output:
            failures += 1
            print(f"{guard} lets pass in {path}: expected '{complaint}', exit code {code}, output:\n{output}")
    print(f"{len(GUARDS) + len(BREACHES)} cases for the guards, {failures} fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
