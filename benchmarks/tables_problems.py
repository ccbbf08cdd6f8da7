"""Fourteen generated problems with a known answer, in the form of benchmarks/tables_data.py.

Rows have numbers of several shapes (normal, uniform, skewed; mildly correlated), categories and
booleans. ``truth`` is the mean of y given X, against which predictions are scored. Each problem has
one difficulty: one width per feature, steps, interactions, features that are noise, rare
categories, skewed prices.
"""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np
import pandas as pd
from tables_data import Table
from tables_data import half as half_of

ROWS, CORRELATION, SHARE_OF_NOISE = 12_000, 0.3, 0.3


def normal(rng, columns):
    common, own = rng.normal(size=(ROWS, 1)), rng.normal(size=(ROWS, columns))
    return np.sqrt(CORRELATION) * common + np.sqrt(1 - CORRELATION) * own


def named(Z, **more):
    return pd.DataFrame({f"x{k}": column for k, column in enumerate(Z.T)} | more)


def drawn(rng, names, shares):
    """Categories of which one is as frequent as its share says."""
    return pd.Categorical(rng.choice(names, size=ROWS, p=np.array(shares) / np.sum(shares)))


def widths(rng):
    Z = normal(rng, 6)
    return named(Z), np.sin(4 * Z[:, 0]) + 0.7 * Z[:, 1] + 0.2 * Z[:, 2] ** 2


def additive(rng):
    Z = normal(rng, 8)
    f = np.tanh(2 * Z[:, 0]) + np.abs(Z[:, 1]) + 0.5 * Z[:, 2] + np.cos(2 * Z[:, 3])
    return named(Z), f + np.exp(-(Z[:, 4] ** 2))


def line(rng):
    Z = normal(rng, 15)
    return named(Z), Z @ np.r_[1, -1, 0.8, 0.6, -0.5, 0.4, 0.3, -0.3, 0.2, 0.1, np.zeros(5)]


def steps(rng):
    Z = normal(rng, 6)
    inner = np.where(Z[:, 1] > 0, 1.5, 0.0)
    return named(Z), np.where(Z[:, 0] > 0.3, inner, -1.0) + (Z[:, 2] > 1) - 0.7 * (Z[:, 3] < -0.5)


def interactions(rng):
    U = rng.uniform(size=(ROWS, 10))
    curve = 10 * np.sin(np.pi * U[:, 0] * U[:, 1]) + 20 * (U[:, 2] - 0.5) ** 2
    return named(U), (curve + 10 * U[:, 3] + 5 * U[:, 4]) / 5


def noise_features(rng):
    Z = normal(rng, 25)
    return named(Z), np.sin(2 * Z[:, 0]) + Z[:, 0] * Z[:, 1]


def categories(rng):
    Z = normal(rng, 3)
    place = drawn(rng, list("abcdefgh"), [8, 6, 5, 4, 3, 2, 1, 1])
    trade = drawn(rng, ["craft", "office", "none"], [3, 4, 2])
    union = rng.uniform(size=ROWS) < 0.3
    level = np.array([0.0, 0.3, -0.4, 0.8, -0.8, 1.2, 2.0, -2.0])[place.codes]
    slope = np.array([0.2, 1.0, -0.3])[trade.codes]
    X = named(Z, place=place, trade=trade, union=union)
    return X, level + slope * Z[:, 0] + 0.5 * union * (Z[:, 1] > 0) + 0.3 * Z[:, 1]


def log_prices(rng):
    size, age = np.exp(4.5 + 0.4 * rng.normal(size=ROWS)), rng.gamma(2, 15, size=ROWS)
    quality = rng.integers(1, 6, size=ROWS).astype(float)
    place = drawn(rng, ["centre", "north", "south", "lake", "rural"], [5, 4, 4, 1, 3])
    garden = rng.uniform(size=ROWS) < 0.4
    level = np.array([0.5, 0.0, -0.1, 0.9, -0.4])[place.codes]
    worth = 0.9 * np.log(size) + 0.12 * quality + level + 0.1 * garden - 0.004 * age
    noise = rng.normal(size=ROWS)
    X = pd.DataFrame({"size": size, "age": age, "quality": quality})
    return X.assign(place=place, garden=garden, errand=noise), worth


def waves(rng):
    Z = normal(rng, 5)
    return named(Z), 3 * np.sin(2 * Z[:, 0]) + Z[:, 1]


def rare_category(rng):
    Z = normal(rng, 4)
    ward = drawn(rng, list("abcdefghij"), [30, 20, 15, 10, 8, 6, 5, 3, 2, 1])
    level = np.array([0, 0.3, -0.3, 0.5, 0, 0, 2.5, -2.5, 3, -3])[ward.codes]
    return named(Z, ward=ward), level + Z[:, 0] - 0.5 * Z[:, 1]


def products(rng):
    Z = normal(rng, 6)
    return named(Z), 2 * Z[:, 0] * Z[:, 1] + Z[:, 2]


def skewed(rng):
    Z = np.exp(normal(rng, 6) * np.array([1, 1.5, 0.5, 1, 2, 1]))
    return named(Z), np.log(Z[:, 0]) - 0.8 * np.log(Z[:, 1]) + 0.6 * np.minimum(Z[:, 2], 3) - 0.8


REGRESSION = {
    "widths": widths,
    "additive": additive,
    "line": line,
    "steps": steps,
    "interactions": interactions,
    "noise features": noise_features,
    "categories": categories,
    "prices": log_prices,
}
CLASSIFICATION = {
    "line, logit": line,
    "waves, logit": waves,
    "steps, logit": lambda rng: _times(2, steps(rng)),
    "products, logit": products,
    "rare category, logit": rare_category,
    "skewed, logit": skewed,
}
PROBLEMS = {**REGRESSION, **CLASSIFICATION}


def half(name: str) -> str:
    """Say whether choices are settled on a problem or reported on it."""
    return half_of(name, (REGRESSION, CLASSIFICATION))


@cache
def generate(name: str) -> Table:
    """Draw one problem; the same rows every time."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    X, f = PROBLEMS[name](rng)
    if name in CLASSIFICATION:
        truth = 1 / (1 + np.exp(-f))
        y = (rng.uniform(size=ROWS) < truth).astype(int)
        return Table(name, "classification", X, y, "generated", truth=truth)
    if name == "prices":  # the noise multiplies, and the mean of exp(noise) belongs to the truth
        noise = SHARE_OF_NOISE * rng.normal(size=ROWS)
        truth = np.exp(f + SHARE_OF_NOISE**2 / 2)
        return Table(name, "regression", X, np.exp(f + noise), "generated", truth=truth)
    y = f + np.sqrt(SHARE_OF_NOISE) * f.std() * rng.normal(size=ROWS)
    return Table(name, "regression", X, y, "generated", truth=f)


def _times(factor, problem):
    X, f = problem
    return X, factor * f
