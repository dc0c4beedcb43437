"""The processes of a run: which there are, how they find, watch and end one another."""
