"""The application: one function for each command that the page can give."""
