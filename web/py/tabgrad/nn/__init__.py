"""Layers: modules hold weights, functions and ops compute."""

from tabgrad.nn.arena import ParameterArena
from tabgrad.nn.attention import Attention
from tabgrad.nn.init import Initializer, manual_seed
from tabgrad.nn.layers import Embedding, LayerNorm, Linear
from tabgrad.nn.mlp import MLP
from tabgrad.nn.module import Module
from tabgrad.nn.parameter import Joined, Parameter

__all__ = ["MLP", "Attention", "Embedding", "Initializer", "Joined", "LayerNorm", "Linear",
           "Module", "Parameter", "ParameterArena", "manual_seed"]
