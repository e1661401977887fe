"""`python -m babelscope`: the command line."""

from babelscope.cli import main

main()
