"""Likelihood of references under a system: log-probability a token, and perplexity."""
