"""Everything the command line can do, as functions that return values: one module a use."""
