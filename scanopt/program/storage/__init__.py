"""Where the values of a loop program live: the rules, the placement, and checks of it."""
