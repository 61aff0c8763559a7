"""The data wing: files become labelled pyramids."""
