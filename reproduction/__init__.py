"""The paper's experiments, from covshift's public names alone.

One module for each experiment (`experiment_1` to `experiment_5`, `robustness`), one file for each
contender (`contenders/`), settings and published numbers as data (`settings.toml`,
`expected.toml`). Run it at the top of a checkout with ``python -m reproduction``
or ``make reproduce``; ``docs/reproduction/`` holds the full run.
"""
