"""The calculus of loops in an e-graph: terms, facts, laws, saturation and extraction."""
