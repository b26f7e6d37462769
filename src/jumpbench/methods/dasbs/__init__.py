"""Discrete Adjoint Schrödinger Bridge Sampler (Guo et al. 2026): a controlled jump process."""

from jumpbench.lazy import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "matcher": "Matcher",
        "matching": "AdjointMatching DenoisingMatching",
        "module": "DASBS",
        "sources": "ConstantSource UniformSource",
        "stages": "Stages",
    },
)
