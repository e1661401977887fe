"""Judges of translations, validated by planted errors."""
