"""What goes home: folders that the Hugging Face world opens."""
