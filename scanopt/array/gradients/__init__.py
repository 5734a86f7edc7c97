"""Gradients of operators whose rules are longer than a line."""
