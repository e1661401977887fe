"""German error types, a module each, and what they share."""
