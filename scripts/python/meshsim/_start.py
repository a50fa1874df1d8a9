"""Where a worker process begins: `python -I .../meshsim/_start.py VERSION`.

In isolated mode (-I) neither the current folder nor PYTHONPATH is searched for modules, so that no untrusted file there runs. Python then may not find this
package, or may find another meshsim first. So the package is loaded by its own path.
"""

import importlib.util
import sys
from pathlib import Path

if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location("meshsim", folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec and spec.loader
    package = importlib.util.module_from_spec(spec)
    sys.modules["meshsim"] = package
    spec.loader.exec_module(package)
    from meshsim._worker import main

    main()
