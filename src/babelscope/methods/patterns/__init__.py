"""Pattern-matching baselines: what was used before contrastive conditioning (its paper, section 3.1)."""
