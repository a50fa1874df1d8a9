#!/usr/bin/env python3
"""The guards find what they are there to find: small trees, each with one breach, and one without any."""

import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "scripts"
LAYERS = ["base", "config", "platform", "mesh", "placement", "model", "schedule", "collective", "spec", "estimate", "dag", "lower", "engine",
          "metrics", "run", "trace", "study", "report", "cli"]
ORDER = ("    base <- config <- platform <- {mesh, placement} <- {model, schedule, collective} <- spec <- estimate <- dag <- lower <- engine"
         " <- metrics <- run <- trace <- study <- report <- cli\n")
TABLE = "".join(f"| `sim/{layer}` | holds it |\n" for layer in LAYERS)


def drawing(*arrows):
    """A page with a drawing of the layers, in which "own included" has a mark."""
    rows = (" ".join([*("o" if f"{own} {one}" in arrows else " " for one in LAYERS[:place]), own]) for place, own in enumerate(LAYERS))
    return ORDER + "\n" + "".join(f"    {row}\n" for row in rows) + "\nThat is all.\n"


DRAWN = drawing("mesh platform", "model mesh")
CLEAN = {
    "README.md": ORDER + TABLE,
    "CONTRIBUTING.md": DRAWN,
    "include/meshsim/mesh.h": "/**\n * @file\n * Meshes.\n */\n#include \"meshsim/platform.h\"\n\nMS_BEGIN_DECLS\n\n"
                              "/** One.  Returns MS_OK. */\nms_status ms_one(int a, int *sum_out);\n\nMS_END_DECLS\n",
    "include/meshsim/platform.h": "/**\n * @file\n * Platforms.\n */\nMS_BEGIN_DECLS\n\n/** Two, three. */\nint ms_two(void);\n"
                                  "int ms_three(void);\n\nMS_END_DECLS\n",
    "include/meshsim/meshsim.h": "/**\n * @file\n * Index: mesh.h, platform.h, x.h.\n */\n",
    "sim/mesh/mesh.c": '#include "mesh/own.h"\n\n'
                       'int ms_one(int a, int *sum_out) {\n    ms_x_free(own); /* free(a) */\n    return g();\n}\n',
    "sim/mesh/own.h": "enum { MS_OK };\nextern int own;\nint g(void);\ntypedef struct ms_axis {\n    int size;\n} ms_axis;\n",
    "sim/mesh/leaf.c": "int g(void) {\n    return 1;\n}\n",
    "sim/model/model.c": '#include "meshsim/mesh.h"\n',
    "sim/config/yaml.c": "#include <yaml.h>\n",
    "sim/engine/bridge.cpp": "#include <simgrid/s4u.hpp>\n",
    "tests/golden/case/case": "command: help\n",
    "tests/golden/case/expected": "",
    "tests/unit/mesh/test_mesh.c": "Test(mesh, one) {\n}\n",
}
CLEAN.update({f"sim/{layer}/layer.md": "A layer; `mesh.c`, `sim/mesh/`, `tests/unit/<layer>/` and `ms_one` exist.\n" for layer in LAYERS})
LONG = "void f(void) {\n" + "    x();\n" * 80 + "}\n"
# guard, file, text, what it must complain of
BREACHES = [
    ("check_layers", "sim/mesh/a.c", '#include "meshsim/model.h"\n', "sim/mesh/a.c:1: model stands above mesh"),
    ("check_layers", "sim/model/a.c", '\n#include "meshsim/schedule.h"\n', "sim/model/a.c:2: schedule stands beside model"),
    ("check_layers", "sim/cli/a.c", '#include "mesh/own.h"\n', "a private header of mesh"),
    ("check_layers", "sim/mesh/a.c", '#include "own.h"\n', "named by their path"),
    ("check_layers", "include/meshsim/platform.h", '#include "meshsim/mesh.h"\n', "mesh stands above platform"),
    ("check_layers", "include/meshsim/unheard.h", "\n", "in no layer"),
    ("check_layers", "sim/unheard/a.c", "\n", "is no layer"),
    ("check_layers", "sim/config/other.c", "#include <yaml.h>\n", "yaml.h in more than one file"),
    ("check_layers", "sim/mesh/a.c", "#include <yaml.h>\n", "one file of sim/config only"),
    ("check_layers", "sim/report/a.c", "#include <hdf5.h>\n", "sim/trace only"),
    ("check_layers", "sim/report/a.c", "#include <zlib.h>\n", "sim/report/gzip.c only"),
    ("check_layers", "sim/study/a.c", "#include <sqlite3.h>\n", "sim/study/store/sqlite.c and sqlite_row.h only"),
    ("check_layers", "sim/engine/a.c", "#include <simgrid/engine.h>\n", "bridge.cpp only"),
    ("check_layers", "sim/engine/other.cpp", "\n", "C++ in sim/engine/bridge.cpp only"),
    ("check_layers", "sim/mesh/a.c", "void f(void) {\n    p = malloc(3);\n}\n", "sim/mesh/a.c:2: malloc() outside"),
    ("check_layers", "sim/mesh/a.c", "void f(void) { free(p); }\n", "free() outside"),
    ("check_layers", "sim/run/a.c", "\n/* ms_value */\nms_value_add_int(tree, key, 1);\n", "sim/run/a.c:3: ms_value_add_int: no result tree"),
    ("check_layers", "include/meshsim/mesh.h", "void ms_add(ms_value *parent);\n", "no result tree below trace"),
    ("check_layers", "include/meshsim/meshsim.h", "int a;\n", "an index holds no code"),
    ("check_layers", "CONTRIBUTING.md", ORDER, "no drawing of the layers"),
    ("check_layers", "CONTRIBUTING.md", DRAWN.replace(f"    {'  ' * 11}lower\n", ""), "CONTRIBUTING.md:3: the drawing lacks the layer 'lower'"),
    ("check_layers", "CONTRIBUTING.md", DRAWN.replace("lower\n", "upper\n"), "the drawing has 'upper', which is no layer"),
    ("check_layers", "CONTRIBUTING.md", drawing("mesh platform", "model mesh", "cli base"), "says that cli includes base, and no file does"),
    ("check_layers", "CONTRIBUTING.md", DRAWN.replace("o mesh\n", ". mesh\n"), "the drawing has another order or other marks"),
    ("check_layers", "CONTRIBUTING.md", DRAWN[len(ORDER):], "CONTRIBUTING.md:1: the order of the layers is"),
    ("check_layers", "sim/lower/a.c", '\n#include "meshsim/mesh.h"\n', "the drawing lacks that lower includes mesh: sim/lower/a.c:2"),
    ("check_layers", "README.md", ORDER.replace("spec <- estimate", "spec") + TABLE, "README.md:1: the order of the layers is"),
    ("check_layers", "README.md", ORDER + TABLE.replace("`sim/estimate`", "`estimate`"), "the table of folders lacks estimate"),
    ("check_size.py", "sim/mesh/a.c", LONG, "f has 82 lines"),
    ("check_size.py", "tests/unit/mesh/a.c", LONG.replace("void f(void)", "Test(mesh, f)"), "has 82 lines"),
    ("check_size.py", "sim/mesh/a.c", "int f(int a, int b, int c, int d, int e, int g) {\n}\n", "f has 6 parameters"),
    ("check_size.py", "include/meshsim/x.h", "int f(int a, int b, int c, int d, int e, int *g);\n", "f has 6 parameters"),
    ("check_size.py", "sim/mesh/a.c", "int a;\n" * 1001, "1001 lines, limit 1000"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\nint ms_a(void);\n", "x.h:2: ms_a has no comment"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\n\n/**  */\nint ms_a(void);\n", "ms_a has no comment"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\n\n/** A. */\nint ms_a(void);\n\nint ms_b(void);\n", "ms_b has no comment"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\n\n/** A. */\nms_status ms_a(void);\n", "does not say what it returns"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\n\nstatic inline int ms_a(void) {\n    return 1;\n}\n", "ms_a has no comment"),
    ("check_docs.py", "include/meshsim/x.h", "/** A. */\nint ms_a(void);\n", "does not open with"),
    ("check_docs.py", "include/meshsim/x.h", "/** @file A. */\n\n/** A. */\nint ms_a(void);\n", "outside MS_BEGIN_DECLS"),
    ("check_docs.py", "include/meshsim/b.h", "/** @file B. */\n", "not in the index"),
    ("check_docs.py", "sim/mesh/a.c", "\n/* As sim/model/gone.c has it. */\n", "sim/mesh/a.c:2: there is no sim/model/gone.c"),
    ("check_docs.py", "scripts/build", "# What tests/unit/<layer>/gone_*.c are.\n", "scripts/build:1: there is no tests/unit/<layer>/gone_*.c"),
    ("check_docs.py", "sim/mesh/note.md", "As\n`gone.c` has it.\n", "sim/mesh/note.md:2: no file is called gone.c"),
    ("check_docs.py", "sim/mesh/note.md", "It is said in gone.md.\n", "sim/mesh/note.md:1: no file is called gone.md"),
    ("check_docs.py", "sim/mesh/own.h", "/* As ms_gone does. */\n", "sim/mesh/own.h:1: no code has ms_gone"),
    ("check_structure", "sim/platform/a.c", "typedef struct ms_axis {\n    int a;\n} ms_axis;\n",
     "sim/platform/a.c:1: 'ms_axis' is a type of sim/mesh/own.h:4 as well"),
    ("check_structure", "sim/mesh/a.c", "struct wide {\n" + "    int *a, b[2];\n" * 10 + "    int c;\n};\n",
     "sim/mesh/a.c:1: 'wide' has 21 fields, more than 20"),
    ("check_structure", "sim/study/a.c", 'void f(void) {\n    p("schedule.v=%d", 2);\n}\n',
     'sim/study/a.c:2: "schedule.v=%d": hand values over as what they are'),
    ("check_structure --build build", "sim/mesh/leaf.c", "int ms_one();\nint g(void) {\n    return ms_one(1);\n}\n",
     "sim/mesh/leaf.c:1: calls each other in a circle: sim/mesh/leaf.c, sim/mesh/mesh.c"),
    ("check_structure --build build", "sim/mesh/a.c", "\nint unused(void) {\n    return 1;\n}\n",
     "sim/mesh/a.c:2: only this file uses 'unused': make it static"),
    ("check_structure --build build", "sim/platform/a.c", "\nint ms_one(int x) {\n    return x;\n}\n",
     "sim/platform/a.c:2: 'ms_one' is defined in sim/mesh/mesh.c:"),
    ("check_structure --build nowhere", "sim/mesh/a.c", "", "is that a build folder?"),
]
GUARDS = ["check_layers", "check_size.py", "check_docs.py", "check_structure", "check_structure --build build"]


def compile_layer(root, layer):
    """The objects of a layer's files, where a build of the project would have them."""
    for source in (root / "sim" / layer).glob("*.c"):
        built = root / "build" / "CMakeFiles" / f"ms_{layer}.dir" / "sim" / layer / f"{source.name}.o"
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
            for layer in ("mesh", "platform"):
                compile_layer(root, layer)
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
