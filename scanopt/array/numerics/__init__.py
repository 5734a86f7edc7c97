"""What operators compute where NumPy has no one function for it."""
