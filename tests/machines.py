"""The machines with everything fixed that is otherwise found: the algebra of section 3 alone.

One Gaussian kernel of the scale width on the columns as they are, f cut off at 0 and 1: what the
naive oracles of tests/reference.py solve.
"""

import covshift


def VSVC(correction="blended", **options):
    """Return `covshift.VSVC` without searches and calibration."""
    return covshift.VSVC(correction, **{**_FIXED, "probability": "clip", **options})


def VSVR(correction="blended", **options):
    """Return `covshift.VSVR` without searches."""
    return covshift.VSVR(correction, **{**_FIXED, **options})


_FIXED = {"kernel": "rbf", "width": "scale", "coordinates": "none"}
