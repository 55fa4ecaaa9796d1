"""The options of each command, each declared once.

Theory of operation. The options of a command are the fields of one frozen dataclass. A field has a
type, a default and, made by `fields.option`, what the command line needs: help, values that a shell
completes, limits. From it follow

- the option on the command line, its help and its completion: `cli.flattened`;
- the keyword of the Python function, with its type and its default: `calls.called_with`.

A field without these is an argument of the Python function alone, such as `on_message`. What two
commands share is a class that both derive from. Fields are in the order of the help.

The modules of this folder import nothing heavy: the types of fields are read by the type checker,
and by `calls` once a function is called. The classes have no equality and no text, which take a
fifth of a millisecond each to make: `sluice --help` imports all of them.
"""
