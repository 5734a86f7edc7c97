"""Facts that several laws use: their meaning, and the Datalog rules that derive them."""
