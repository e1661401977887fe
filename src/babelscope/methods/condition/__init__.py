"""Contrastive conditioning: which sense a translation has, told by sources with cues (Vamvas and Sennrich 2021)."""
