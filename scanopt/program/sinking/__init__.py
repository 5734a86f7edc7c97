"""Code motion: computations are moved to where they are needed, into the sides of branches."""
