"""Operations on tensors: one file each, with its spec, its forward and its backward."""

from tabgrad.ops.add import add
from tabgrad.ops.gelu import gelu
from tabgrad.ops.linear import linear
from tabgrad.ops.matmul import matmul
from tabgrad.ops.mean import mean
from tabgrad.ops.mul import mul
from tabgrad.ops.relu import relu
from tabgrad.ops.reshape import reshape
from tabgrad.ops.scale import scale
from tabgrad.ops.sub import sub
from tabgrad.ops.sum import sum
from tabgrad.ops.tanh import tanh
from tabgrad.ops.transpose import transpose

__all__ = ["add", "gelu", "linear", "matmul", "mean", "mul", "relu", "reshape", "scale", "sub",
           "sum", "tanh", "transpose"]
