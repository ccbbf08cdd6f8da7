"""One self-contained HTML file about a shift and its correction: data, pictures, page.

Needs matplotlib and Jinja2 (the extra ``report``).
"""

from .batches import build_batches
from .build import build, write

__all__ = ["build", "build_batches", "write"]
