"""Small translation models, trained from nothing."""
