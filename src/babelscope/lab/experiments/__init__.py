"""What the lab is used for: experiments whose right answer is known."""
