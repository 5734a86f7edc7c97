"""Gradients of operators that take more than a line."""
