"""Computations moved to where they are needed: into the sides of branches, beside one another."""
