"""The machines with everything fixed that is otherwise found: the algebra of section 3 alone.

One Gaussian kernel of the scale width on the columns as they are, f cut off at 0 and 1: what the
naive oracles of tests/reference.py solve.
"""

import inspect

import covshift


def VSVC(correction="blended", **options):
    """Return `covshift.VSVC` without searches and calibration."""
    return covshift.VSVC(correction, **{"probability": "clip", **with_kernel(_FIXED | options)})


def VSVR(correction="blended", **options):
    """Return `covshift.VSVR` without searches."""
    return covshift.VSVR(correction, **with_kernel(_FIXED | options))


def with_kernel(options):
    """Return options of a machine, those of its kernel put into a `covshift.Kernel`."""
    of_kernel = {name: value for name, value in options.items() if name in _OF_KERNEL}
    rest = {name: value for name, value in options.items() if name not in {*_OF_KERNEL, "kernel"}}
    return {"kernel": covshift.Kernel(options.get("kernel", "cv"), **of_kernel), **rest}


_FIXED = {"kernel": "rbf", "width": "scale", "coordinates": "none"}
_OF_KERNEL = inspect.signature(covshift.Kernel).parameters.keys() - {"name"}
