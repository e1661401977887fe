"""The commands of the lab; their code is imported when they run."""

from __future__ import annotations

from babelscope.core.registry import Command

DEMO = Command("demo", "Evaluate small translation models by every method.", "babelscope.cli.run:demo")
LAB = Command("lab", "Make parallel text; train and distill translation models.", "babelscope.cli.lab:app")
