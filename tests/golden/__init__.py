"""Golden values: what commands print and write, recorded once and compared in `make test`.

`python -m tests.golden` records them (all cases, or those whose names begin with an argument). A value is recorded
again only with a reason; what is merely renamed goes into `renames.toml`.
"""
