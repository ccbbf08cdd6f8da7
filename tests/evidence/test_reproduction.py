"""The reproduction's parts: verdicts, stored trials, the machine, contenders, reports."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import reproduction
from reproduction import publish
from reproduction.cli import choose, parser, remaining
from reproduction.configuration import Key, read_expected, read_settings
from reproduction.contenders import CONTENDERS, Sample
from reproduction.generators import make_twonorm
from reproduction.machine import Machine, unit_diagonal
from reproduction.reporting import open_choices
from reproduction.reporting.claims import claims
from reproduction.reporting.layout import Table
from reproduction.reporting.markdown import filled
from reproduction.reporting.page import as_html
from reproduction.reporting.sections import Section, sections
from reproduction.reporting.table_one import COLUMNS, paper_against_measured
from reproduction.seeds import seed_of
from reproduction.store import Store, read_compact, write_compact
from reproduction.table import options_of
from reproduction.trials import Trials, as_cell
from reproduction.verdict import Cell, clearly_worse, standard_errors, verdict

SETTINGS = read_settings()
FOLDER = Path(reproduction.__file__).parent


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X, y = make_twonorm(40, 3, random_state=0)
    scaled = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return Sample(scaled, y, rng.uniform(size=(60, 3)), (0.0, 1.0), np.ones(40))


# Verdicts


def test_a_cell_agrees_up_to_two_standard_errors_of_the_difference():
    published = Cell(0.90, 3.0, 10_000)  # standard error 0.03
    error = np.hypot(0.03, 0.04)
    assert verdict(published, Cell(0.90 + 1.99 * error, 4.0, 10_000)) == "agrees"
    assert verdict(published, Cell(0.90 + 2.01 * error, 4.0, 10_000)) != "agrees"


def test_few_trials_are_judged_by_students_t():
    assert standard_errors(1e6) == pytest.approx(2, abs=1e-4)
    assert standard_errors(2) == pytest.approx(4.527, abs=1e-3)  # three trials
    assert Cell(0.9, 0.05, 3).direction == 0  # three and a half standard errors
    assert Cell(0.9, 0.05, 4).direction == -1
    assert verdict(Cell(1.0, 0.1, 100), Cell(1.2, 0.1, 3)) == "agrees"
    assert verdict(Cell(1.0, 0.1, 100), Cell(1.2, 0.1, 30)) == "differs"


@pytest.mark.thorough
def test_the_margin_has_the_confidence_it_claims_in_simulated_trials():
    rng = np.random.default_rng(0)
    few, many = rng.normal(1, 0.3, (4000, 3)), rng.normal(1, 0.1, (4000, 50))
    pairs = zip(map(as_cell, few), map(as_cell, many), strict=True)
    agreed = np.mean([verdict(published, measured) == "agrees" for published, measured in pairs])
    assert 0.94 < agreed < 0.97


def test_means_without_deviation_agree_only_where_they_are_equal():
    assert verdict(Cell(1.0, 0.0, 3), Cell(1.0, 0.0, 3)) == "agrees"
    assert verdict(Cell(1.0, 0.0, 3), Cell(1.1, 0.0, 3)) == "differs"


def test_both_standard_errors_count():
    wide = Cell(0.9, 1.0, 100)
    assert verdict(Cell(1.05, 0.01, 100), wide) == "agrees"
    assert verdict(wide, Cell(1.05, 0.01, 100)) == "agrees"
    assert verdict(Cell(1.05, 0.01, 100), Cell(0.9, 0.01, 100)) == "differs"


@pytest.mark.parametrize(
    ("published", "measured", "expected"),
    [
        (0.8, 0.9, "same direction"),
        (1.2, 1.1, "same direction"),
        (0.9, 1.1, "differs"),
        (0.9, 1.001, "differs"),  # better, against not to be told from unweighted
        (0.9985, 1.0015, "same direction"),  # neither is to be told from unweighted
    ],
)
def test_the_direction_decides_where_cells_do_not_agree(published, measured, expected):
    found = verdict(Cell(published, 0.01, 100), Cell(measured, 0.01, 100))  # standard errors 0.001
    assert found == expected


# Published numbers and settings


def test_every_cell_of_table_1_is_published_in_all_five_columns():
    cells = {(c["experiment"], c["dataset"], c["column"]) for c in read_expected()["cell"]}
    wanted = {
        (experiment, cell, column)
        for experiment in ("3", "4", "5")
        for cell in SETTINGS["cells"][experiment]
        if not cell.endswith("raw norm")
        for column in COLUMNS
    }
    assert cells == wanted
    assert len(cells) == 60


def test_every_contender_of_the_settings_has_a_file_and_a_label():
    named = set(SETTINGS["contenders"]["table"]) | set(SETTINGS["contenders"]["synthetic"])
    assert named <= set(CONTENDERS)
    assert len({contender.label for contender in CONTENDERS.values()}) == len(CONTENDERS)


def test_the_number_of_trials_does_not_change_the_fingerprint_but_the_seed_does():
    more = read_settings()
    more.values["trials"] = {}
    assert more.fingerprint == SETTINGS.fingerprint
    assert read_settings(seed=1).fingerprint != SETTINGS.fingerprint
    assert read_settings("generated").fingerprint != SETTINGS.fingerprint


def test_seeds_differ_between_trials_cells_and_contenders():
    seeds = {seed_of(1, e, c, t) for e in "345" for c in ("a", "b") for t in range(50)}
    assert len(seeds) == 300


def test_the_experiments_use_public_names_of_covshift_only():
    outside = 0
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("covshift"):
                if node.module in (
                    "covshift.numerics.array",
                    "covshift.numerics.progress",
                    "covshift.numerics.quiet",
                ):
                    continue  # no number comes from these
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not [name for name in names if name.startswith("_")], path
                outside += 1
    assert outside > 10


# The machine and the contenders


def test_the_machine_is_the_papers_closed_form(sample):
    V = CONTENDERS["additive"].v(sample, {}, 0)
    N, gamma = len(V), 0.1
    K = np.exp(-((sample.X[:, None] - sample.X[None]) ** 2).sum(axis=2) / 8)
    A_b = np.linalg.solve(V @ K + gamma * np.eye(N), V @ sample.y)
    A_c = np.linalg.solve(V @ K + gamma * np.eye(N), V @ np.ones(N))
    c = np.ones(N) @ V @ (K @ A_b - sample.y) / (np.ones(N) @ V @ (K @ A_c - 1))
    machine = Machine(sample.X, sample.y, sample.X, "rbf", 1 / 8)
    np.testing.assert_allclose(machine.values(V, gamma), K @ (A_b - c * A_c) + c, atol=1e-9)


def test_a_summed_v_is_an_averaged_one_with_a_smaller_penalty(sample):
    V = CONTENDERS["additive"].v(sample, {}, 0)
    machine = Machine(sample.X, sample.y, sample.T, "rbf", 1 / 8)
    np.testing.assert_allclose(machine.values(3 * V, 0.1), machine.values(V, 0.1 / 3), atol=1e-9)


@pytest.mark.parametrize("name", SETTINGS["contenders"]["table"])
def test_every_contender_makes_a_symmetric_v_or_a_probability(name, sample):
    contender, options = CONTENDERS[name], options_of(SETTINGS, "table", name)
    if name == "robust":
        p = contender.probability(sample, sample.T, options, 0)
        assert ((p >= 0) & (p <= 1)).all()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of weights that rest on few rows
        V = contender.v(sample, options, 0)
    np.testing.assert_allclose(V, V.T)
    assert np.linalg.eigvalsh(V).min() > -1e-9
    assert np.diag(unit_diagonal(V)).mean() == pytest.approx(1)


def test_mirrored_features_change_the_papers_v_and_not_the_symmetric_one(sample):
    for name, same in (("additive", False), ("symmetric", True)):
        options = options_of(SETTINGS, "table", name)
        V, mirrored = (CONTENDERS[name].v(s, options, 0) for s in (sample, sample.mirrored()))
        assert np.allclose(V, mirrored) == same


# Which trials are run


def arguments(*words):
    return parser().parse_args(list(words))


def test_only_dataset_and_method_choose_trials_and_keep_the_baseline():
    wanted = choose(
        arguments("--only", "4", "--dataset", "banknote", "--method", "kliep"), SETTINGS
    )
    assert len(wanted) == 100
    assert {(key.experiment, key.cell) for key in wanted} == {("4", "banknote")}
    assert all(names == ["unweighted", "kliep"] for names in wanted.values())


def test_the_full_run_has_the_papers_numbers_of_trials():
    counts: dict[tuple[str, str], int] = {}
    for key in choose(arguments(), SETTINGS):
        counts[key.experiment, key.cell] = counts.get((key.experiment, key.cell), 0) + 1
    assert counts["3", "twonorm"] == counts["4", "cancer"] == 100
    assert counts["5", "cancer"] == counts["2", "N = 20"] == 50
    assert counts["1", "one run"] == 1


def test_only_what_is_missing_is_run_again():
    keys = [Key("4", "cancer", 0), Key("4", "cancer", 1)]
    wanted = {key: ["unweighted", "kliep"] for key in keys}
    done = {keys[0]: {"unweighted": {}, "kliep": {}}, keys[1]: {"unweighted": {}}}
    (job,) = remaining(wanted, done)
    assert (job.key, job.contenders) == (keys[1], ("kliep",))


# Stored trials


def test_a_last_line_that_was_cut_off_is_dropped_and_the_next_one_is_whole(tmp_path):
    store = Store(tmp_path / "trials.jsonl", "abc")
    keys = [Key("4", "cancer", trial) for trial in range(3)]
    for key in keys[:2]:
        store.append(key, {"kliep": {"errors": {"paper": 0.1}}})
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:-20])
    assert set(store.load()) == {keys[0]}
    store.repair()
    store.append(keys[2], {"kliep": {}})
    assert set(store.load()) == {keys[0], keys[2]}


def test_lines_of_one_trial_are_put_together_and_other_settings_are_left_out(tmp_path):
    path, key = tmp_path / "trials.jsonl", Key("4", "cancer", 0)
    Store(path, "abc").append(key, {"kliep": {"errors": {"paper": 0.1}}})
    Store(path, "abc").append(key, {"ulsif": {"errors": {"paper": 0.2}}})
    Store(path, "xyz").append(key, {"truth": {"errors": {"paper": 0.3}}})
    assert set(Store(path, "abc").load()[key]) == {"kliep", "ulsif"}


def test_the_committed_form_keeps_numbers_and_drops_times(tmp_path):
    key = Key("4", "cancer", 0)
    found = {"kliep": {"errors": {"paper": 0.125}, "seconds": {"select": 1.0}}}
    write_compact(tmp_path / "t.gz", {key: found}, "abc")
    first = (tmp_path / "t.gz").read_bytes()
    write_compact(tmp_path / "t.gz", {key: found}, "abc")
    assert (tmp_path / "t.gz").read_bytes() == first
    assert read_compact(tmp_path / "t.gz") == (
        {key: {"kliep": {"errors": {"paper": 0.125}}}},
        "abc",
    )


# Numbers out of trials


def test_ratios_are_taken_trial_by_trial_with_the_stated_offset():
    errors = [(0.0, 0.1), (0.2, 0.1), (0.0, 0.0)]
    results = {
        Key("4", "cancer", trial): {
            "unweighted": {"errors": {"paper": base}},
            "kliep": {"errors": {"paper": error}},
        }
        for trial, (error, base) in enumerate(errors)
    }
    ratios = Trials(results, SETTINGS).ratios("4", "cancer", "kliep")
    np.testing.assert_allclose(ratios, [0.0005 / 0.1005, 0.2005 / 0.1005, 1.0])


def test_cross_validated_errors_are_compared_with_the_cross_validated_baseline():
    found = {
        "unweighted": {"errors": {"paper": 0.5, "cv": 0.1}},
        "additive": {"errors": {"paper": 0.5, "cv": 0.1, "unit median cv": 0.1}},
    }
    found["unweighted"]["errors"]["median cv"] = 0.2
    trials = Trials({Key("4", "cancer", 0): found}, SETTINGS)
    assert trials.ratios("4", "cancer", "additive", "cv") == pytest.approx([1.0])
    assert trials.ratios("4", "cancer", "additive", "unit median cv") == pytest.approx(
        [0.1005 / 0.2005]
    )


# Reports


def test_a_bar_in_a_cell_does_not_break_a_markdown_table():
    lines = Table("caption", ["kernel"], [["exp(-|d|)"]]).markdown().splitlines()
    assert lines[-1] == r"| exp(-\|d\|) |"


def test_the_page_is_self_contained_and_escapes_its_text():
    page = as_html([Section("a < b", ["x & y"], [Table("c", ["h"], [["differs"]])])], {})
    assert "a &lt; b" in page
    assert "x &amp; y" in page
    assert '<td class="differs">' in page
    assert not re.search(r'(src|href)="(?!#)', page)


@pytest.mark.thorough
def test_a_short_run_says_so_and_the_full_one_does_not():
    short = Trials({Key("4", "cancer", 0): {}}, SETTINGS)
    assert "1 of 1401 trials" in sections(short, {})[0].words[0]
    assert "short run" not in sections(publish.committed(), {})[0].words[0]


def test_both_scales_of_the_additive_v_stand_beside_the_paper():
    rows = open_choices.scales(publish.committed()).rows
    taken = {row[0]: row[2 if row[4] == "averaged" else 3].strip("*") for row in rows}
    measured = {
        row[0]: row[2] for row in paper_against_measured(publish.committed(), "additive").rows
    }
    assert taken == measured


def test_a_marker_without_a_table_is_an_error():
    assert filled("<!-- begin a -->\nold\n<!-- end a -->", {"a": "new"}).split("\n")[2] == "new"
    with pytest.raises(ValueError, match="asks for 'b'"):
        filled("<!-- begin b -->\nold\n<!-- end b -->", {"a": "new"})


# Claims


def trials_with(ratios, count=10, **variants):
    """Trials of Experiment 4 whose additive errors are these multiples of the unweighted one."""
    results = {}
    for cell, ratio in ratios.items():
        for trial in range(count):
            base = 0.2 + 0.01 * trial
            error = ratio * base + 0.001 * (trial % 2)
            found = {"paper": error} | {name: factor * error for name, factor in variants.items()}
            results[Key("4", cell, trial)] = {
                "unweighted": {"errors": {"paper": base, "cv": base}},
                "additive": {"errors": found},
            }
    return Trials(results, SETTINGS)


def standing(title, trials):
    (found,) = [claim for claim in claims(trials) if claim.title.startswith(title)]
    return found.standing


def test_a_claim_without_trials_is_not_run():
    assert {claim.standing for claim in claims(Trials({}, SETTINGS))} == {"not run"}


def test_a_claim_is_not_judged_by_the_few_trials_of_a_quick_run():
    trials = trials_with({"cancer": 0.9}, count=3)
    assert standing("Never significantly worse", trials) == "too few trials"


def test_of_many_cells_one_at_two_standard_errors_is_chance():
    """Of twelve equal cells one exceeds two standard errors every fourth time."""
    ordinary = [Cell(0.97, 0.1, 100)] * 11
    assert not any(clearly_worse([*ordinary, Cell(1.02, 0.1, 100)]))
    assert clearly_worse([*ordinary, Cell(1.04, 0.1, 100)]) == [False] * 11 + [True]
    assert clearly_worse([Cell(1.02, 0.1, 100)]) == [True]  # alone it is clear
    assert clearly_worse([Cell(1.0, 0.0, 100), Cell(1.1, 0.0, 100)]) == [False, True]


def test_one_cell_worse_beyond_chance_refutes_never_worse():
    title = "Never significantly worse"
    assert standing(title, trials_with({"cancer": 0.9, "diabetes": 0.99})) == "holds"
    assert standing(title, trials_with({"cancer": 0.9, "diabetes": 1.1})) == "does not hold"


def test_a_gain_that_needs_no_target_is_not_of_the_target():
    title = "Control: the gain comes from the target"
    assert standing(title, trials_with({"cancer": 0.8}, train=1.1)) == "holds"
    assert standing(title, trials_with({"cancer": 0.8}, train=1.0)) == "does not hold"


def test_an_improvement_that_a_tuned_penalty_ends_holds_under_a_setting():
    title = "Improves on banknote and ringnorm"
    both = {"banknote": 0.8, "ringnorm": 0.9}
    assert standing(title, trials_with(both, cv=1.0)) == "holds"
    assert standing(title, trials_with(both, cv=1.4)) == "only under a setting"


# The committed run


def test_the_committed_trials_are_those_of_the_present_settings():
    _, fingerprint = read_compact(publish.RESULTS / "trials.jsonl.gz")
    assert fingerprint == SETTINGS.fingerprint, "run `make reproduce` and publish it again"


@pytest.mark.thorough
def test_the_page_of_the_documentation_says_what_the_committed_trials_say():
    page = publish.PAGE.read_text(encoding="utf-8")
    assert "<!-- begin claims -->" in page
    assert filled(page, publish.blocks(publish.committed())) == page


def test_the_committed_trials_are_trials_of_the_full_run():
    trials = publish.committed()
    full = choose(arguments(), SETTINGS)
    for key, found in trials.results.items():
        assert set(found) <= set(full[key]), key
