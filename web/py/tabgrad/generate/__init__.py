"""Writing: a prompt is read in chunks, then one plan is replayed; text and chat around it."""
