"""Examples in a module are tested where its extra is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/covshift/torch.py"]
collect_ignore += [] if find_spec("triton") else ["src/covshift/_device/gaussian_kernels.py"]
