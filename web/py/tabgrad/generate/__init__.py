"""Generation: one decode step as a plan, its cache on the GPU, and the loop that streams bytes."""
