"""MuCoW by known words (Raganato et al. 2019)."""
