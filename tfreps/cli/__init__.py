"""Options of the programs, one table per decision, and what a terminal needs."""
