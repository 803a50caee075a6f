"""Training: settings, the plan of a step, the trainer, and what it remembers."""
