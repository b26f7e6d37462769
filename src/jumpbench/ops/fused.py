"""Steps of a transformer block with gradients written by hand, for eager training on a CPU.

There, a small network spends its time moving activations, not multiplying: each function is its
plain formula with fewer passes over memory, forward and backward. Differentiable once.
"""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def pays(z: Tensor) -> bool:
    """Whether to use them on z: eager, on a CPU, in one precision.

    Compilers fuse the plain formulas better, and complex numbers have no half precision.
    """
    return (
        z.device.type == "cpu"
        and z.dtype in (torch.float32, torch.float64)
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cpu")
    )


def rotated_heads(qkv: Tensor, angles: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys with their channel pairs turned by ``angles``, and values, by head.

    A pair (a, b) is the complex number z = a + ib, turned to w = z exp(i theta). With g the
    gradient with respect to w, written in the same way, that of z is g exp(-i theta), and that of
    theta is the sum over the batch of Im(g conj(w)).

    Args:
        qkv: (B, D, 3 h): all queries, all keys, all values.
        angles: (heads, D, h / heads / 2).

    Returns:
        three of (B, heads, D, h / heads).
    """
    return _RotatedHeads.apply(qkv, angles)


def modulated_norm(z: Tensor, scale: Tensor, shift: Tensor, eps: float) -> Tensor:
    """LayerNorm(z) scale + shift; z (B, D, h), scale and shift (B, 1, h)."""
    return _ModulatedNorm.apply(z, scale, shift, eps)


def gated_sum(z: Tensor, gate: Tensor, branch: Tensor) -> Tensor:
    """z + gate branch; z and branch of one shape, gate broadcast to it."""
    return _GatedSum.apply(z, gate, branch)


class _RotatedHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, qkv, angles):
        turn = torch.polar(torch.ones_like(angles), angles).transpose(0, 1).contiguous()
        parts = qkv.unflatten(-1, (3, turn.shape[1], -1))
        q, k = (_complex(parts[:, :, i]) * turn for i in range(2))
        ctx.save_for_backward(q, k, turn)
        q, k = (torch.view_as_real(w).flatten(-2) for w in (q, k))
        return tuple(part.transpose(1, 2) for part in (q, k, parts[:, :, 2]))

    @staticmethod
    @once_differentiable
    def backward(ctx, *outer):
        q, k, turn = ctx.saved_tensors
        # The gradients of scaled_dot_product_attention already lie in memory in this order.
        grads = [grad.transpose(1, 2).contiguous() for grad in outer]
        grad_qkv = grads[0].new_empty(*q.shape[:2], 3, *grads[0].shape[2:])
        grad_qkv[:, :, 2] = grads[2]
        back, inverse = _complex(grad_qkv), turn.conj_physical()
        grad_angles = torch.zeros_like(turn)
        for i, w in enumerate((q, k)):
            g = _complex(grads[i])
            grad_angles += (g * w.conj_physical()).sum(0)
            torch.mul(g, inverse, out=back[:, :, i])
        return grad_qkv.flatten(2), grad_angles.imag.transpose(0, 1)


class _ModulatedNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, scale, shift, eps):
        normal, mean, rate = torch.native_layer_norm(z, z.shape[-1:], None, None, eps)
        ctx.save_for_backward(z, normal, mean, rate, scale)
        return torch.addcmul(shift, normal, scale)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        z, normal, mean, rate, scale = ctx.saved_tensors
        product = grad * normal
        grad_scale = product.sum(1, keepdim=True)
        grad_z, _, _ = torch.ops.aten.native_layer_norm_backward(
            torch.mul(grad, scale, out=product),
            z, z.shape[-1:], mean, rate, None, None, [True, False, False],
        )  # fmt: skip
        return grad_z, grad_scale, grad.sum(1, keepdim=True), None


class _GatedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, gate, branch):
        ctx.save_for_backward(gate, branch)
        return torch.addcmul(z, gate, branch)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        gate, branch = ctx.saved_tensors
        return grad, (grad * branch).sum_to_size(gate.shape), grad * gate


def _complex(z: Tensor) -> Tensor:
    """Channels (0,1), (2,3), ... as complex numbers, a view."""
    return torch.view_as_complex(z.unflatten(-1, (-1, 2)))
