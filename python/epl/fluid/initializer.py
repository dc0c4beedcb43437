"""What parameters begin with, by the names of Fluid; Paddle 2.6 has the classes, with Fluid's arguments."""

from __future__ import annotations

from epl.fluid.installed import load

paddle = load()

BilinearInitializer = Bilinear = paddle.nn.initializer.Bilinear
ConstantInitializer = Constant = paddle.nn.initializer.ConstantInitializer
MSRAInitializer = MSRA = paddle.nn.initializer.MSRAInitializer
NormalInitializer = Normal = paddle.nn.initializer.NormalInitializer
NumpyArrayInitializer = paddle.nn.initializer.NumpyArrayInitializer
TruncatedNormalInitializer = TruncatedNormal = paddle.nn.initializer.TruncatedNormalInitializer
UniformInitializer = Uniform = paddle.nn.initializer.UniformInitializer
XavierInitializer = Xavier = paddle.nn.initializer.XavierInitializer

__all__ = [
    "MSRA",
    "Bilinear",
    "BilinearInitializer",
    "Constant",
    "ConstantInitializer",
    "MSRAInitializer",
    "Normal",
    "NormalInitializer",
    "NumpyArrayInitializer",
    "TruncatedNormal",
    "TruncatedNormalInitializer",
    "Uniform",
    "UniformInitializer",
    "Xavier",
    "XavierInitializer",
]
