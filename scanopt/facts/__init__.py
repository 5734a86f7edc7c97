"""Facts that several laws ask for: their meaning, and the Datalog rules that derive them."""
