"""The calculus of loops: its terms, and how facts, rules and laws about them are written."""
