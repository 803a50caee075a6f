"""Files: runs with their checkpoints, models of other people, conversations."""
