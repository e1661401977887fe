"""Forced choice between a correct translation and variants with an error (paper: minimal-pairs)."""
