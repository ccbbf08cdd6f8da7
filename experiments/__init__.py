"""The paper's experiments, from covshift's public names alone.

One module an experiment (`experiment_1` to `experiment_5`, `robustness`), one file a contender
(`contenders/`), settings and published numbers as data (`settings.toml`, `expected.toml`), the
committed full run in `results/`. Run it with ``python -m experiments`` or ``make reproduce``.
"""
