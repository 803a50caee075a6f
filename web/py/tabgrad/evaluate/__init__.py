"""Measuring a model on text that it was not trained on."""
