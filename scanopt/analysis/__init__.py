"""What the text of a program tells before laws run: lengths, sizes, equal states, facts about it."""
