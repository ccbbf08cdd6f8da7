"""Functions of (V, arrays): they state what they need of V and know no estimator."""
