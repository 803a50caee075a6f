"""Text into batches: files read, tokens masked, rows packed. Nothing here needs a GPU."""

from tabgrad.data.dataset import DataFacts, Dataset
from tabgrad.data.documents import BadLine, Chat, Document, Parsed, Text
from tabgrad.data.parsing import parse
from tabgrad.data.preview import Shown
from tabgrad.data.source import IGNORED, Batch, BatchSource, WindowSource
from tabgrad.data.tokens import tokenize

__all__ = ["IGNORED", "BadLine", "Batch", "BatchSource", "Chat", "DataFacts", "Dataset",
           "Document", "Parsed", "Shown", "Text", "WindowSource", "parse", "tokenize"]
