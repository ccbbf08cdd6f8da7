"""What estimate, evaluate and conformal models stand on: overlap, weights, models, errors."""
