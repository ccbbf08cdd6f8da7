"""Quadratic problems of the weighters: on the simplex, by an interior point, by projection."""
