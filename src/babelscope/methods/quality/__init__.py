"""Quality of translations by metrics: corpus scores of any system."""
