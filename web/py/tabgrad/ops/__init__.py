"""Operations on tensors: one file each, with its spec, its forward and its backward."""

from tabgrad.ops.add import add
from tabgrad.ops.add_columns import add_columns
from tabgrad.ops.argmax import argmax
from tabgrad.ops.attention import attention
from tabgrad.ops.attention_cached import attention_cached
from tabgrad.ops.cross_entropy import cross_entropy
from tabgrad.ops.delta_gates import delta_gates
from tabgrad.ops.delta_rule import delta_rule
from tabgrad.ops.delta_rule_cached import delta_rule_cached
from tabgrad.ops.document_positions import document_positions
from tabgrad.ops.dropout import dropout
from tabgrad.ops.embedding import embedding
from tabgrad.ops.gated import gated
from tabgrad.ops.gated_rmsnorm import gated_rmsnorm
from tabgrad.ops.gelu import gelu
from tabgrad.ops.gelu_exact import gelu_exact
from tabgrad.ops.halves import kept
from tabgrad.ops.layernorm import layernorm
from tabgrad.ops.linear import linear
from tabgrad.ops.linear_cross_entropy import linear_cross_entropy
from tabgrad.ops.linear_gated import linear_gated
from tabgrad.ops.matmul import matmul
from tabgrad.ops.mean import mean
from tabgrad.ops.moe import moe
from tabgrad.ops.moe_balance import Balance, add_balance, balanced
from tabgrad.ops.mul import mul
from tabgrad.ops.positions import positions
from tabgrad.ops.relu import relu
from tabgrad.ops.reshape import reshape
from tabgrad.ops.rmsnorm import rmsnorm
from tabgrad.ops.rotary import rotary
from tabgrad.ops.sample import sample
from tabgrad.ops.scale import scale
from tabgrad.ops.short_convolution import short_convolution, short_convolution_cached
from tabgrad.ops.sigmoid_gate import sigmoid_gate
from tabgrad.ops.silu import silu
from tabgrad.ops.softcap import softcap
from tabgrad.ops.sub import sub
from tabgrad.ops.sum import sum
from tabgrad.ops.tanh import tanh
from tabgrad.ops.token_losses import token_losses
from tabgrad.ops.transpose import transpose

__all__ = ["Balance", "add", "add_balance", "add_columns", "argmax", "attention",
           "attention_cached", "balanced", "cross_entropy", "delta_gates", "delta_rule",
           "delta_rule_cached", "document_positions", "dropout", "embedding", "gated",
           "gated_rmsnorm", "gelu", "gelu_exact", "kept", "layernorm", "linear",
           "linear_cross_entropy", "linear_gated", "matmul", "mean", "moe", "mul", "positions",
           "relu", "reshape", "rmsnorm", "rotary", "sample", "scale", "short_convolution",
           "short_convolution_cached", "sigmoid_gate", "silu", "softcap", "sub", "sum", "tanh",
           "token_losses", "transpose"]
