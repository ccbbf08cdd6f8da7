"""What runs where PyTorch tensors lie: the only room that imports PyTorch, when first called.

The rest of the library is written for any array namespace (`_array`) and asks here only for what a
GPU does another way: `products` in split half precision, `bins` (sums into bins), `masks`
(dominance in several dimensions) and `kernels`. `covshift.torch` is for networks of PyTorch.
"""

from __future__ import annotations
