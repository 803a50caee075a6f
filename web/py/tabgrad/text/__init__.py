"""Text: corpora and batches to train on; tokenizers, chat templates, text from ids."""
