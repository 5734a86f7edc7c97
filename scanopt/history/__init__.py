"""What the optimizer did to one program, as plain data for the page and for other tools."""
