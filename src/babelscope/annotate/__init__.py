"""A local page on which people judge translations, and what they said."""
