"""What a researcher does with laws: attack them, leave them out, count them; and measure what operators cost."""
