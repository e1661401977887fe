"""Run folders and figures made visible."""
