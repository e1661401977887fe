"""Decisions: may a new system be shipped, what does a system get wrong, and how many items tell."""
