"""One-dimensional views: the target as thresholds on a line, the rows in the bins between them.

`thresholds` sorts the target and finds the bin of a point, `bins` adds rows into bins, `tables`
goes from bins to thresholds and back, `factor` is R times many columns, `vectors` R times one. All
of it runs on NumPy and on any other array library; `operators.trees` adds what boosted trees need.
"""
