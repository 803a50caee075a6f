"""Checkpoints: safetensors files, the folder format, the store of runs, zip export and import."""
