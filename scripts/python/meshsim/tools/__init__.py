"""Commands of meshsim that Python answers: what translates, fits and draws.

The program checks the command line against the table that each of these modules has in its COMMAND, and starts `_start.py` with it.
A command is one module here; a format that `import` or `export` knows is one module in `importers` or `exporters`.
"""
