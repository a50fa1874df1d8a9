"""Exporters: a module for each kind of file, with what `meshsim.tools.export` names in `Kind`, and what they share in `_job` and `_compare`."""
