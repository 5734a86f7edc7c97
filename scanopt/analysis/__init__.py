"""Analyses of a program before laws run: lengths, sizes, equal states, facts about it."""
