"""How probable a system finds the references: the log-probability a token, and the perplexity."""
