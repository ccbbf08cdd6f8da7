"""Which target points dominate a row in several dimensions, as bits of PyTorch tensors."""

from __future__ import annotations

from typing import Any


class MaskTables:
    """The target of one view of several dimensions, as bit masks by rank (see `operators.bits`)."""

    def __init__(self, T: Any) -> None:
        import torch

        self.count = T.shape[0]
        self._thresholds, self._tables = [], []
        places = 2 ** torch.arange(8, device=T.device)
        pad = -self.count % 8
        for t in T.T:
            thresholds = torch.unique(t)
            rank = torch.searchsorted(thresholds, t.contiguous())
            above = rank[None, :] >= torch.arange(len(thresholds) + 1, device=T.device)[:, None]
            above = torch.nn.functional.pad(above, (0, pad)).reshape(len(above), -1, 8)
            self._thresholds.append(thresholds)
            self._tables.append((above * places).sum(dim=2).to(torch.uint8))

    def read(self, X: Any) -> Any:
        """Packed columns of B: (b, M / 8) bytes; rows that no target dominates are zero."""
        import torch

        bits = None
        for k, (thresholds, table) in enumerate(zip(self._thresholds, self._tables, strict=True)):
            code = torch.searchsorted(thresholds, X[:, k].contiguous())
            read = table[code]
            bits = read if bits is None else bits.bitwise_and_(read)
        return bits

    def unpacked(self, bits: Any) -> Any:
        """B as bytes of zero and one: (M, b), and rows of zeros up to a multiple of eight."""
        import torch

        places = torch.arange(8, dtype=torch.uint8, device=bits.device)
        B = (bits.T.contiguous()[:, None, :] >> places[:, None]).bitwise_and_(1)
        return B.reshape(-1, len(bits))
