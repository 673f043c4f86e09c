"""What compilation of a model yields."""
