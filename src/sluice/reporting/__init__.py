"""Results for people and programs: documents, tables, charts, exports.

One folder for each kind of answer, with `result` (the value and its JSON document), `tables` (for
terminals) and `chart`. A result imports its chart; tables import the result; charts take rows.
Shared parts are in `charts`, `exports`, `formatting` and `table_style`.
"""
