"""Layers: modules hold weights, functions and ops compute."""

from tabgrad.nn.arena import ParameterArena
from tabgrad.nn.attention import Attention
from tabgrad.nn.delta_net import DeltaNet
from tabgrad.nn.init import Initializer, manual_seed
from tabgrad.nn.layers import Embedding, LayerNorm, Linear
from tabgrad.nn.mlp import MLP, GatedMLP, MixtureOfExperts
from tabgrad.nn.module import Module
from tabgrad.nn.parameter import Joined, Parameter
from tabgrad.nn.past import WHOLE, AttentionPast, Packed, Past, StatePast
from tabgrad.nn.rms_norm import GatedRMSNorm, RMSNorm

__all__ = ["MLP", "WHOLE", "Attention", "AttentionPast", "DeltaNet", "Embedding", "GatedMLP",
           "GatedRMSNorm", "Initializer", "Joined", "LayerNorm", "Linear", "MixtureOfExperts",
           "Module", "Packed", "Parameter", "ParameterArena", "Past", "RMSNorm", "StatePast",
           "manual_seed"]
