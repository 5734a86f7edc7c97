"""The loop program: what is left to run, as data, with its text form and its memory plan."""
