"""What a call gives: the program's JSON object, and its tables."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional

from ._errors import UsageError

if TYPE_CHECKING:
    import pandas
    import xarray


def _need(module: str, what: str) -> Any:
    """An optional module, or an ImportError that says what to install."""
    try:
        return __import__(module)
    except ImportError as error:
        raise ImportError(f"{what} needs {module}: apt install python3-{module}, or pip install {module}") from error


class TraceFile:
    """A trace that goes with the last result that needs it, unless the caller named its file."""

    def __init__(self, path: Optional[str] = None):
        self._folder = None if path else tempfile.mkdtemp(prefix="meshsim-trace-")
        self.path = path or f"{self._folder}/trace.h5"
        if self._folder:
            weakref.finalize(self, shutil.rmtree, self._folder, True)


class Result(Mapping[str, Any]):
    """A result as a mapping with the keys of `--json`, which are attributes, too: result["step_time_s"], result.step_time_s.

    Units stand at the ends of the names: _s seconds, _B bytes, _Bps bytes per second, _J joules; shares and fractions are 0 to 1."""

    def __init__(self, data: Dict[str, Any], status: int = 0, messages: str = "", trace: Optional[TraceFile] = None):
        self._data = data
        self._trace = trace
        self.status = status
        """0, or 1 where the answer is "no": it does not fit in memory, a guard is broken, nothing is feasible"""
        self.messages = messages
        """warnings and notes, as the program prints them"""

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getattr__(self, key: str) -> Any:
        if not key.startswith("_") and key in self._data:
            return self._data[key]
        raise AttributeError(f"no '{key}' in this result; its keys are {', '.join(self.__dict__.get('_data', {}))}")

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._data})

    def __repr__(self) -> str:
        heads = [f"{key}={self._data[key]!r}" for key in ("workload", "platform", "gpus", "step_time_s", "mfu") if key in self._data]
        return f"<meshsim.Result {' '.join(heads) or ', '.join(self._data)}>"

    def to_dict(self) -> Dict[str, Any]:
        """The JSON object itself."""
        return self._data

    @property
    def trace_file(self) -> str:
        """Path of the HDF5 trace; a temporary one goes with this result. UsageError without a trace."""
        if self._trace is None:
            raise UsageError("this result has no trace: meshsim.run(..., trace=\"passes\"), or \"full\", keeps one")
        return self._trace.path

    @property
    def trace(self) -> "xarray.Dataset":
        """The events of the trace, dimension `event`: start_ps and end_ps [ps] from the start of the run, rank, kind, axis, stage, mb and so on,
        see sim/trace/README.md."""
        return self.table("events")

    def table(self, name: str) -> "xarray.Dataset":
        """A table of the trace: events, members, streams, ranks, mesh, steps, axes, tiers, links, memory or critical_path; one dimension, a
        variable for each column, with `units` and `long_name`."""
        path = self.trace_file
        _need("h5netcdf", "a trace")
        with _need("xarray", "a trace").open_dataset(path, group=name, engine="h5netcdf") as opened:
            table: "xarray.Dataset" = opened.load()
        return table

    def to_pandas(self, name: str = "stages") -> "pandas.DataFrame":
        """A table as a DataFrame, a row per entry: a list of this result (`stages`, `collectives`, `kernels`, of `run`; `results` of `search`; `rows`
        of others), a mapping of mappings (`comm`, `tiers`) by its keys, or else a table of the trace (`ranks`, `events`, which are passes with
        trace="passes"), enums by their names."""
        pandas = _need("pandas", "a table")
        rows = self._data.get(name)
        if isinstance(rows, list):
            return pandas.json_normalize(rows) if rows and isinstance(rows[0], dict) else pandas.DataFrame({name: rows})
        if isinstance(rows, dict) and self._trace is None or isinstance(rows, dict) and name in ("comm", "tiers"):
            return pandas.DataFrame.from_dict({key: row if isinstance(row, dict) else {name: row} for key, row in rows.items()}, orient="index")
        table = self.table(name)
        frame = table.to_dataframe()
        for column, variable in table.data_vars.items():
            if "flag_meanings" in variable.attrs:
                words = str(variable.attrs["flag_meanings"]).split()
                names = dict(zip((int(value) for value in variable.attrs["flag_values"]), words))
                frame[column] = frame[column].map(names)
        return frame
