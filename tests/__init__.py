"""A package by name, so that no other `tests` on the path can take its place."""
