"""Texts as bytes: corpora, and the batches that training draws from them."""
