"""Runnable comparisons, as ratios within one run: `python -m benchmarks.NAME [--quick] [--json]`."""
