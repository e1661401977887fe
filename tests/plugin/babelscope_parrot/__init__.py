"""A parrot for Babelscope: one example of everything that a plug-in can add."""
