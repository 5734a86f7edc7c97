"""A researcher's instruments: laws attacked, proved, left out and counted; costs of operators measured."""
