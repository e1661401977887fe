"""Architectures that have a forward pass of their own here, described by what they do unlike Llama."""
