"""The reproduction of the paper: its recipes, protocols, records and tables."""
