"""The tests, as a package of their own: another one called ``tests`` may be installed."""
