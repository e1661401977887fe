"""Public formats of test sets, one module each, with source, license and published figures."""
