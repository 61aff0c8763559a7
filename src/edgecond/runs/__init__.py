"""The roof's first room: from a recipe and data to a trained model."""
