"""What can be read off a program before laws run: lengths, sizes, equal states, facts about it."""
