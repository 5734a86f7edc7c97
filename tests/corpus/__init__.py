"""Random programs, and what must hold of them: see `random_programs.generate`."""
