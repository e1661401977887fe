"""Minimal pairs: one module an error type, each turning a reference into variants that are wrong."""

from babelscope.making.pairs.base import ErrorType, Variant
from babelscope.making.pairs.making import make_pairs
from babelscope.making.pairs.registry import ERROR_TYPES, error_type

__all__ = ["ERROR_TYPES", "ErrorType", "Variant", "error_type", "make_pairs"]
