"""Sentences of the lab's world, and the truth about them."""
