"""Captions of the figures, apart from what draws them: text needs no matplotlib."""

CAPTIONS = {
    "figure_1b": "Figure 1b: the KDE ratio's error over its bandwidth, Experiment 4, ringnorm. "
    "Thin: single trials; thick: their mean. Dashed: the additive V and the unweighted machine.",
    "figure_1c": "Figure 1c: predicted probability on one run, the paper's method and two others.",
    "figure_4a": "Figure 4a: predicted probability on one run, N = 200, M = 1000. The curves of "
    "the KDE ratios lie on the unweighted one.",
    "figure_4b": "Figure 4b: normalised L2 error against N; bands are two standard errors. The "
    "lines of the KDE ratios lie on the unweighted one.",
    "figure_4c": "Figure 4c: the same with another target sample of 500 rows.",
    "figure_robustness": "Figure 1b for every method and data set: mean target error over the "
    "method's own parameter, from the low to the high end of its range (the table has the ranges); "
    "errors on a logarithmic axis.",
    "figure_gamma": "The same over the machine's penalty γ.",
}
