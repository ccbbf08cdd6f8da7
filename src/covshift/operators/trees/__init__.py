"""What boosted trees ask of V: sums over bins, squares of growing leaves, one-dimensional views."""
