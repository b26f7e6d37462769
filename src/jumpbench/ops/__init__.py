"""Tensor routines below processes, targets and samplers, which know nothing of any of them."""
