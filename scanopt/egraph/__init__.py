"""The e-graph: programs as terms, the engine with its rules, saturation, and what is read back."""
