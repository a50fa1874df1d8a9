"""Where the shared library is. Runs in worker processes only, so that SimGrid and HDF5 never are in the caller's."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Iterator, Tuple

SONAME = "libmeshsim.so.0"
VARIABLE = "MESHSIM_LIBRARY"


def candidates() -> Iterator[str]:
    """Files that may be the library, those that are named first."""
    named = os.environ.get(VARIABLE)
    if named:
        yield named
        return
    yield SONAME  # as the dynamic linker finds it: LD_LIBRARY_PATH, ldconfig
    folders = [Path(sys.prefix) / "lib"]
    program = shutil.which("meshsim")
    if program:
        home = Path(program).resolve().parent
        folders += [home, home.parent / "lib"]
    folders += [Path("/usr/local/lib"), Path("/usr/lib")]
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    for folder in folders:
        yield str(folder / multiarch / SONAME)
        yield str(folder / SONAME)


def find_program() -> str:
    """The program meshsim, which starts the tools of this package: beside the library that MESHSIM_LIBRARY names, else in PATH; "": there is none."""
    named = os.environ.get(VARIABLE)
    folders = [Path(named).resolve().parent, Path(named).resolve().parent.parent / "bin"] if named else []
    found = [str(folder / "meshsim") for folder in folders if os.access(folder / "meshsim", os.X_OK)]
    return found[0] if found else shutil.which("meshsim") or ""


def open_library() -> ctypes.CDLL:
    """The library, or an OSError that says where it was looked for."""
    reasons = []
    for name in candidates():
        if "/" in name and not Path(name).exists():
            reasons.append(f"{name}: no such file")
            continue
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    raise OSError("no meshsim library found; install meshsim (cmake --install build), or name the file in " + VARIABLE + ". Looked for:\n  "
                  + "\n  ".join(reasons))


def path_of(library: ctypes.CDLL) -> Path:
    """The file that a library was loaded from."""
    stem = Path(library._name).name.split(".so")[0]
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            file = line.split(maxsplit=5)[-1].strip()
            if Path(file).name.startswith(stem + ".so"):
                return Path(file)
    return Path(library._name).resolve()


def data_folder(library: Path) -> str:
    """The folder with `platforms` and `workloads` that belongs to a library; "" where the program's own default holds."""
    for place in ("../share/meshsim", "../../share/meshsim", ".."):
        folder = (library.parent / place).resolve()
        if (folder / "platforms").is_dir():
            return str(folder)
    return ""


def load(wanted: str) -> Tuple[ctypes.CDLL, str]:
    """The library and its data folder. wanted: version of this package; OSError where the library has another."""
    library = open_library()
    library.ms_program_version.restype = ctypes.c_char_p
    library.ms_program_main.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    version = library.ms_program_version().decode()
    path = path_of(library)
    if version.split(".")[:2] != wanted.split(".")[:2]:
        raise OSError(f"{path} is meshsim {version}, and this package was made for {wanted}; install both from one version")
    return library, data_folder(path)
