"""How answers are judged: one package per method, and one line in `registry`."""
