"""WinoMT by alignment and morphology (Stanovsky et al. 2019)."""
