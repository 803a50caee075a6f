"""Text into batches: files read, tokens masked, rows packed. Nothing here needs a GPU."""
