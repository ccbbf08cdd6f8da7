"""What runs where PyTorch tensors lie: kernel values, which a GPU makes another way.

The rest of the library is written for any array namespace (`covshift.numerics.array`).
`covshift.torch` is for networks of PyTorch.
"""

from __future__ import annotations
