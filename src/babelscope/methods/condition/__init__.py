"""Contrastive conditioning: decides by cued sources which sense a translation has (Vamvas and Sennrich 2021)."""
