"""Looking into a run: the time and the value of each node."""
