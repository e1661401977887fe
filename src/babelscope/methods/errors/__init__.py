"""Errors in a system's own translations, found by detectors."""
