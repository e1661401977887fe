"""What a model believes beyond its 1-best: its most probable translations, its samples, and how it ranks them."""
