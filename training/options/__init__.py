"""Options that training commands share, and the steps that all of these commands run."""
