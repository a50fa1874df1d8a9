"""Where a command of this package begins: `python3 -I .../meshsim/tools/_start.py PROGRAM COMMAND [--OPTION[=VALUE]]... -- [ARGUMENT]...`.

PROGRAM is the meshsim that started it and that it asks what only the simulator knows. It has checked the words, and each option has its long name.
With --describe alone it prints what the commands are called with, as JSON. In isolated mode (-I) no module of the current folder runs; the package is loaded by its own path.
"""

import importlib.util
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.dont_write_bytecode = True  # the folder may be the system's, or be read by others at the same time
    folder = Path(__file__).resolve().parent.parent
    spec = importlib.util.spec_from_file_location("meshsim", folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec and spec.loader
    package = importlib.util.module_from_spec(spec)
    sys.modules["meshsim"] = package
    spec.loader.exec_module(package)
    if sys.argv[1:] == ["--describe"]:
        from meshsim.tools._describe import text

        sys.stdout.write(text())
        sys.exit(0)
    from meshsim.tools._call import main

    sys.exit(main(sys.argv[1:]))
