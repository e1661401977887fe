"""A local page on which people judge translations, and their answers."""
