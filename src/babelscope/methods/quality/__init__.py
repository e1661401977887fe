"""Quality of translations by metrics against references: corpus scores of any system."""
