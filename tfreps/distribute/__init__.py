"""Training across epochs: the loop, and what a resumed run must share with the first."""
