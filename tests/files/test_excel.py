"""Excel workbooks: every row of the sheet that is meant, or an error that says what to do."""

from __future__ import annotations

import io
import json
import re
import zipfile
from datetime import date, datetime, timedelta

import numpy as np
import pytest
from command import covshift
from read_files import read_table

from covshift.exceptions import InputError
from covshift.files.excel import header_place
from covshift.files.frame import open_frame
from covshift.files.reading import ReadOptions, book_and_sheet, missing_words

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")


@pytest.fixture
def workbook(tmp_path):
    """Write a workbook of sheets, each a list of rows."""

    def write(name="book.xlsx", merged=(), **sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
            for cells in merged:
                sheet.merge_cells(cells)
        book.save(tmp_path / name)
        return tmp_path / name

    return write


def edited(path, change, member="xl/worksheets/sheet1.xml"):
    """The same workbook, with one file of it changed."""
    sink = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(sink, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data.decode()) if name == member else data)
    path.write_bytes(sink.getvalue())
    return path


def with_rows(path, xml):
    """The same workbook, with other rows on its first sheet, as a program may have written them."""
    whole = re.compile(r"<sheetData\s*/>|<sheetData>.*</sheetData>", re.S)
    return edited(path, lambda text: whole.sub(f"<sheetData>{xml}</sheetData>", text))


def error_of(path, **reading):
    with pytest.raises(InputError) as error:
        read_table(str(path), reading=ReadOptions(**reading))
    return str(error.value)


# Cells


def test_a_sheet_gives_the_columns_of_the_text(tmp_path, workbook, monkeypatch):
    rows = 30
    columns = {
        "number": [None if k == 3 else k * 0.25 - 3 for k in range(rows)],
        "category": [None if k == 5 else ["Zürich", "Bern", "Genève"][k % 3] for k in range(rows)],
        "date": [None if k == 6 else date(2026, 1, 1) + timedelta(days=5 * k) for k in range(rows)],
        "moment": [datetime(2026, 3, 1, k % 24, 30) for k in range(rows)],
        "text": [f"id {k}" for k in range(rows)],
        "boolean": [None if k == 4 else k % 3 == 0 for k in range(rows)],
    }
    cells = [[*columns], *zip(*columns.values(), strict=True)]
    path = workbook(people=map(list, cells))
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in cells]
    (tmp_path / "same.csv").write_text("\n".join(lines), encoding="utf-8")
    same = read_table(str(tmp_path / "same.csv"))
    assert [part.kind for part in same.columns.values()] == [
        *("number", "category", "date", "date", "category", "boolean")
    ]
    raw = io.BufferedReader(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr("sys.stdin", type("Piped", (), {"buffer": raw}))
    for table in (read_table(str(path)), read_table("-")):
        assert table.names == same.names
        assert not table.notes
        for name, column in same.columns.items():
            found = table.columns[name]
            assert found.kind == column.kind
            if found.values.dtype == object:
                np.testing.assert_array_equal(found.values, column.values)
            else:
                np.testing.assert_allclose(found.values, column.values, rtol=0, atol=1e-9)


def test_rows_of_a_sheet_are_named_by_their_number(workbook):
    path = workbook(people=[["a", "b"], [1, 1], [2, 2], ["x", 3]])
    with pytest.raises(InputError, match="sheet 'people', line 4: 'x' in column 'a' is not a numb"):
        read_table(str(path), {"a": "number"})
    assert "line 3 is empty" in error_of(workbook(people=[["a", "b"], [1, 1], [], [3, 3]]))
    assert len(read_table(str(workbook(people=[["a", "b"], [1, 1], [2, 2], [None, None]])))) == 2
    beyond = [["a", "b"], *([k, k] for k in range(150)), [1, 2, 3]]
    assert "line 152 has cells beyond the 2 columns" in error_of(workbook(people=beyond))


def test_a_missing_number_of_a_sheet_counts_by_value(workbook):
    everywhere, _ = missing_words(["-9"])
    path = workbook(people=[["a", "b"], [1, 1.5], [-9, -9.0], [2.5, 3]])
    table = read_table(str(path), reading=ReadOptions(missing=everywhere))
    for name in ("a", "b"):
        assert np.isnan(table.columns[name].values).tolist() == [False, True, False]


# Rows that must not be lost


@pytest.mark.parametrize("said", ["A1:C21", "A1", "A1:A61", "B5:C9", "A1:XFD1048576", "nonsense"])
def test_a_sheet_may_lie_about_its_size(workbook, said):
    path = workbook(people=[["a", "b", "c"], *([k, k % 7, k % 3] for k in range(60))])
    edited(path, lambda text: re.sub(r'<dimension ref="[^"]*"', f'<dimension ref="{said}"', text))
    if said == "nonsense":
        assert "is not a readable Excel workbook" in error_of(path)
        return
    table = read_table(str(path))
    assert table.columns["a"].values.mean() == 29.5
    with open_frame(str(path)) as stream:
        assert [len(part) for part in stream.parts(25)] == [25, 25, 10]


def test_formulas_without_values_are_told(workbook):
    path = workbook(people=[["a", "b"], *([k, f"=A{k + 2}*2"] for k in range(30))])
    told = "sheet 'people': formulas without values in 30 cells; open and save the file in Excel."
    assert told in error_of(path)
    assert "first is in row 2, column 2" in error_of(path)
    edited(path, lambda text: text.replace("<v />", "<v>1</v>").replace("<v></v>", "<v>1</v>"))
    assert read_table(str(path)).columns["b"].values.tolist() == [1] * 30


def test_an_error_in_a_cell_is_no_gap(workbook):
    path = workbook(people=[["a", "b"], [1, 5], ["#DIV/0!", 6], ["#N/A", 7]])
    assert read_table(str(path)).columns["a"].values.tolist() == ["1", "#DIV/0!", None]


def test_one_cell_far_away_does_not_fill_the_memory(workbook):
    path = workbook(people=[["a"], [1], [2]])
    edited(path, lambda text: text.replace('r="3"', 'r="1048576"').replace('"A3"', '"XFD1048576"'))
    assert "is larger than memory" in error_of(path)


def test_a_formula_may_give_the_empty_text(workbook):
    path = workbook(people=[["a", "b"], [1, 2]])
    with_rows(
        path,
        '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c>'
        '<c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'
        '<row r="2"><c r="A2"><v>1</v></c><c r="B2" t="str"><f>IF(A2=1,"",2)</f><v></v></c></row>'
        '<row r="3"><c r="A3"><v>2</v></c><c r="B3"><f>IF(A3=1,"",2)</f><v>2</v></c></row>',
    )
    np.testing.assert_array_equal(read_table(str(path)).columns["b"].values, [np.nan, 2])


def test_rows_without_numbers_of_their_own_are_read(workbook):
    text = '<c t="inlineStr"><is><t>%s</t></is></c>'
    rows = "".join(f"<row><c><v>{k}</v></c>{text % 'n'}</row>" for k in range(50))
    path = with_rows(workbook(people=[["a"]]), f"<row>{text % 'a'}{text % 'b'}</row>{rows}")
    table = read_table(str(path))
    assert table.columns["a"].values.tolist() == [*range(50)]
    assert {*table.columns["b"].values} == {"n"}


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="2"><c><v>1</v></c></row><row r="2"><c><v>2</v></c></row>',  # twice
        '<row r="3"><c><v>1</v></c></row><row r="2"><c><v>2</v></c></row>',  # out of order
        '<row r="99999999999"><c><v>1</v></c></row>',
    ],
)
def test_rows_that_are_numbered_wrongly_are_refused(workbook, rows):
    head = '<row r="1"><c t="inlineStr"><is><t>a</t></is></c></row>'
    path = with_rows(workbook(people=[["a"]]), head + rows)
    assert "numbered wrongly" in error_of(path)


# As other programs write them: the parts of a workbook that differ, with the same cells


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHARED = (
    f'<sst xmlns="{MAIN}" count="9" uniqueCount="6"><si><t>age</t></si><si><t>region</t></si>'
    "<si><t>day</t></si><si><t>ill</t></si><si><t>north</t></si>"
    '<si><r><t>so</t></r><r><rPr><b/></rPr><t xml:space="preserve">uth</t></r></si></sst>'
)
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><fonts count="1"><font/></fonts><fills count="1">'
    '<fill><patternFill/></fill></fills><borders count="1"><border/></borders>'
    '<cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs>'
    "</styleSheet>"
)


def by_number(row, text, *, more="", cell="", after=""):
    """A row whose text is in the shared strings; 46000 is the day 2025-12-09."""
    at = [f'r="{letter}{row}"' for letter in "ABCD"]
    if row == 1:
        cells = "".join(f'<c {place}{cell} t="s"><v>{k}</v></c>' for k, place in enumerate(at))
    else:
        cells = (
            f'<c {at[0]}{cell}><v>{40 + row}.5</v></c><c {at[1]}{cell} t="s"><v>{text}</v></c>'
            f'<c {at[2]} s="1"><v>{46000 + row}</v></c><c {at[3]} t="b"><v>{row % 2}</v></c>'
        )
    return f'<row r="{row}"{more}>{cells}{after}</row>'


def by_itself(row, text):
    """A row whose text is in its cells, which is written before anybody knows how many follow."""
    words = ["age", "region", "day", "ill"] if row == 1 else [None, text, None, None]
    found = []
    for letter, word in zip("ABCD", words, strict=True):
        number = {"A": f"{40 + row}.5", "C": 46000 + row, "D": row % 2}
        kind = {"C": ' s="1"', "D": ' t="b"'}.get(letter, "")
        found.append(
            f'<c r="{letter}{row}"{kind}><v>{number[letter]}</v></c>'
            if word is None
            else f'<c r="{letter}{row}" t="inlineStr"><is><t>{word}</t></is></c>'
        )
    return f'<row r="{row}">{"".join(found)}</row>'


TEXTS = {"by number": [None, 4, 5, 4], "by itself": [None, "north", "south", "north"]}
PROGRAMS = {
    # a size, spans and attributes of later versions
    "Excel": '<dimension ref="A1:D4"/><sheetData>'
    + "".join(
        by_number(k + 1, text, more=' spans="1:4" x14ac:dyDescent="0.25"')
        for k, text in enumerate(TEXTS["by number"])
    )
    + "</sheetData>",
    # the size of the whole sheet, cells that have a style alone, and a last row far below
    "LibreOffice": '<sheetPr filterMode="false"/><dimension ref="A1:AMJ1048576"/><sheetData>'
    + "".join(
        by_number(
            k + 1,
            text,
            more=' customFormat="false" ht="12.8" hidden="false" outlineLevel="0"',
            after=f'<c r="E{k + 1}" s="0"/><c r="AMJ{k + 1}" s="0"/>',
        )
        for k, text in enumerate(TEXTS["by number"])
    )
    + '<row r="1048576" ht="12.8"/></sheetData>',
    # no size, a style in every cell, empty rows below
    "Google Sheets": '<sheetFormatPr customHeight="1" defaultRowHeight="15.75"/><sheetData>'
    + "".join(by_number(k + 1, text, cell=' s="0"') for k, text in enumerate(TEXTS["by number"]))
    + "".join(f'<row r="{k}"><c r="A{k}" s="0"/></row>' for k in range(5, 60))
    + "</sheetData>",
    # row after row with little memory: the size of one cell, and text in the cells
    "writexl and xlsxwriter": '<dimension ref="A1"/><sheetData>'
    + "".join(by_itself(k + 1, text) for k, text in enumerate(TEXTS["by itself"]))
    + "</sheetData>",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_workbooks_of_several_programs_hold_the_same_table(tmp_path, program):
    kinds = {"worksheet": "sheet1.xml", "styles": "styles.xml", "sharedStrings": "strings.xml"}
    files = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
        'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-'
        'package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application'
        '/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
        + "".join(
            f'<Override PartName="/xl/{name}" ContentType="application/vnd.openxmlformats-'
            f'officedocument.spreadsheetml.{kind}+xml"/>'
            for kind, name in kinds.items()
        )
        + "</Types>",
        "_rels/.rels": relations({"officeDocument": "xl/workbook.xml"}),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="people" sheetId="1" r:id="r0"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(kinds),
        "xl/styles.xml": STYLES,
        "xl/strings.xml": SHARED,
        "xl/sheet1.xml": f'<worksheet xmlns="{MAIN}" xmlns:x14ac="http://schemas.microsoft.com/'
        f'office/spreadsheetml/2009/9/ac">{PROGRAMS[program]}</worksheet>',
    }
    path = tmp_path / "book.xlsx"
    with zipfile.ZipFile(path, "w") as book:
        for name, text in files.items():
            book.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}')
    table = read_table(str(path), {"age": "number", "region": "category", "ill": "boolean"})
    assert table.names == ["age", "region", "day", "ill"]
    assert table.columns["age"].values.tolist() == [42.5, 43.5, 44.5]
    assert table.columns["region"].values.tolist() == ["north", "south", "north"]
    first = (date(1899, 12, 30) - date(1970, 1, 1)).days + 46002
    assert table.columns["day"].values.tolist() == [first, first + 1, first + 2]
    assert table.columns["ill"].values.tolist() == [0, 1, 0]


def relations(parts):
    found = "".join(
        f'<Relationship Id="r{k}" Type="{OFFICE}/{kind}" Target="{place}"/>'
        for k, (kind, place) in enumerate(parts.items())
    )
    home = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{home}">{found}</Relationships>'


# Files that are broken, or meant to break


ENTITIES = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 10))
BOMB = f'<!DOCTYPE x [<!ENTITY e0 "ha">{ENTITIES}]>'
BROKEN = {
    "cut XML": lambda text, _: text[: len(text) * 3 // 4],
    "entities": lambda text, _: text.replace("<worksheet", f"{BOMB}<worksheet").replace(
        "<v>41<", "<v>&e9;<"
    ),
    "unknown entity": lambda text, _: text.replace("<v>41<", "<v>&other;<"),
    "no number": lambda text, _: text.replace("<v>41<", "<v>forty<"),
    "no row": lambda text, row: text.replace(f'<row r="{row}"', '<row r="two"'),
    "far cell": lambda text, row: text.replace(f'r="A{row}"', f'r="ZZZZZZ{row}"'),
    "no cell": lambda text, row: text.replace(f'r="A{row}"', f'r="{row}A"'),
    "another end": lambda text, _: text.replace("</sheetData>", "</data>"),
    "nothing": lambda text, _: "",
}


@pytest.mark.part(20)
@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("before", [0, 150])  # beyond the rows by which the header is found
def test_a_broken_sheet_is_an_input_error(workbook, change, before):
    path = workbook(people=[["a"], *[[1]] * before, [41]])
    edited(path, lambda text: change(text, before + 2))
    assert "book.xlsx" in (told := error_of(path))
    assert "is not a readable Excel workbook" in told


@pytest.mark.part(3)
@pytest.mark.parametrize("member", ["xl/workbook.xml", "xl/styles.xml", "[Content_Types].xml"])
@pytest.mark.parametrize("text", ["", "<a", "<a/>", f"{BOMB}<a>&e9;</a>"])
def test_a_broken_workbook_is_an_input_error(workbook, member, text):
    path = edited(workbook(people=[["a"], [1], [2]]), lambda _: text, member)
    if member == "xl/workbook.xml":
        assert "book.xlsx" in error_of(path)
        return
    try:  # the other members say nothing about the cells
        column = read_table(str(path)).columns["a"]
    except InputError:
        assert "book.xlsx" in error_of(path)
    else:
        assert column.values.tolist() == [1, 2]


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_a_workbook_that_was_cut_off_is_an_input_error(workbook, kept):
    path = workbook(people=[["a"], *([k] for k in range(500))])
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    assert "Copy it again" in error_of(path)


def test_flipped_bytes_give_an_input_error_or_a_table(workbook):
    path = workbook(people=[["a", "b"], *([k, "x" * (k % 5)] for k in range(50))])
    good, refused = path.read_bytes(), 0
    for place in range(0, len(good), 61):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        try:
            read_table(str(path))
        except InputError:
            refused += 1
    assert refused > 20


# The header


TABLE = [["age", "sex", "region"], [41, "m", "north"], [52, "f", "south"]]
ABOVE = {
    "empty rows": [[], []],
    "a title": [["Survey 2026"]],
    "a title in the middle": [[None, "Survey 2026"]],
    "a title and an empty row": [["Survey 2026"], []],
    "two titles": [["Survey 2026"], ["Ministry"], [], []],
    "groups": [[None, "Person"]],
    "where it comes from": [["Source", "Census"], ["Date", date(2026, 1, 1)], []],
}


@pytest.mark.parametrize("above", ABOVE.values(), ids=ABOVE)
def test_lines_above_the_header_are_skipped_with_one_note(workbook, above):
    table = read_table(str(workbook(people=[*above, *TABLE])))
    assert table.names == ["age", "sex", "region"]
    assert table.columns["age"].values.tolist() == [41, 52]
    (note,) = table.notes
    count = f"{len(above)} row{'s' * (len(above) > 1)}"
    told = f"sheet 'people': skipped {count} above the header, which is row {len(above) + 1}."
    assert note.text.endswith(told)


def test_a_merged_title_is_skipped(workbook):
    path = workbook(people=[["Survey 2026"], *TABLE], merged=["A1:C1"])
    assert read_table(str(path)).names == ["age", "sex", "region"]


@pytest.mark.parametrize(
    "rows",
    [
        TABLE,
        [["a"], ["x"], ["y"]],
        [[None, "a"], [0, 1.5], [1, 2.5]],  # the index of pandas
        [["a", "b", "c"], [None, None, "x"], ["x", "y", "z"]],  # gaps
        [[2019, 2020], [1, 2]],
        [["a", "b", "c"], [None, "x"], ["x"]],
    ],
)
def test_a_table_that_begins_with_its_header_stays_as_it_is(workbook, rows):
    table = read_table(str(workbook(people=rows)))
    assert not [note for note in table.notes if note.kind == "header"]
    assert len(table) == len(rows) - 1
    assert header_place(rows) == 0


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["name", "city"], ["Ann", "Bern", "x"]], "line 2 has cells beyond the 2 columns"),
        ([["Survey 2026"], [41, 3, 5], [42, 4, 6]], "line 2 has cells beyond the 1 column of"),
        ([["a", None, None, "b"], [1, 2, 3, 4]], "column 2, 3 has no name"),
    ],
)
def test_no_row_of_values_becomes_the_header(workbook, rows, words):
    assert words in error_of(workbook(people=rows))


# Sheets


def test_the_first_sheet_is_read_and_another_can_be_named(workbook):
    path = workbook(people=[["a"], [1], [2]], more=[["b"], [3]], notes=[])
    table = read_table(str(path))
    assert table.columns["a"].values.tolist() == [1, 2]
    (note,) = table.notes
    assert "the sheets 'people', 'more', 'notes': 'people' was read (--sheet names" in note.text
    for given in (f"{path}:more", str(path)):
        table = read_table(given, reading=ReadOptions(sheet="more"))
        assert (table.names, table.sheet, table.notes) == (["b"], "more", [])
        assert table.title == f"{path}, sheet 'more'"
    assert "sheet 'notes' is empty" in error_of(path, sheet="notes")
    told = error_of(f"{path}:mor")
    assert "no sheet 'mor'. Did you mean 'more'? Its sheets are: 'people', 'more'" in told
    assert "name two sheets" in error_of(f"{path}:more", sheet="people")


def test_a_file_that_has_the_name_with_a_colon_is_meant(tmp_path, workbook):
    path = workbook(people=[["a"], [1], [2]], more=[["b"], [3]])
    named = tmp_path / "book.xlsx:more"
    try:
        named.write_text("c\n4\n5\n")
    except OSError:
        pytest.skip("no colon in names of files")
    assert read_table(str(named)).names == ["c"]
    assert book_and_sheet(str(named)) == (str(named), None)
    assert book_and_sheet(f"{path}:people") == (str(path), "people")


def test_a_file_that_is_no_workbook_has_no_sheet(tmp_path):
    path = tmp_path / "text.xlsx"
    path.write_text("a\n1\n2\n")
    assert "is not an Excel workbook: it has no sheet 'more'" in error_of(f"{path}:more")
    assert "other.xlsx does not exist" in error_of(tmp_path / "other.xlsx:more")


@pytest.fixture
def book(workbook):
    rng = np.random.default_rng(0)
    sample = [[float(x), int(x + e > 0)] for x, e in rng.normal(size=(60, 2))]
    target = [[float(x), None] for x in rng.normal(0.5, 1, 80)]
    head = ["x", "y"]
    return workbook(Sample=[head, *sample], Population=[head, *target], Other=[head, *sample])


COMMAND = "estimate", "--outcome", "y", "--json"


@pytest.mark.thorough
def test_two_sheets_of_one_book_are_sample_and_target(book, tmp_path, workbook):
    for name in ("Sample", "Population"):
        rows = [[c.value for c in row] for row in openpyxl.load_workbook(book)[name].iter_rows()]
        workbook(f"{name}.xlsx", only=rows)
    apart = covshift(*COMMAND, tmp_path / "Sample.xlsx", tmp_path / "Population.xlsx")
    assert apart.code == 0, apart.err
    sentence = json.loads(apart.out)["sentence"]
    for given in (
        (f"{book}:Sample", f"{book}:Population"),
        (book, book, "--sheet", "Sample", "--target-sheet", "Population"),
        (book, book, "--target-sheet", "Population"),
        (book, f"{book}:Population", "--sheet", "Sample"),
    ):
        together = covshift(*COMMAND, *given)
        assert together.code == 0, together.err
        assert json.loads(together.out)["sentence"] == sentence


@pytest.mark.parametrize("more", [[], ["--sheet", "Sample"], ["--target-sheet", "Sample"]])
def test_one_sheet_is_not_both_sample_and_target(book, more):
    done = covshift(*COMMAND, book, book, *more)
    assert done.code == 2
    assert "sheet 'Sample' is both the sample and the target" in done.err
    assert "--target-sheet NAME" in done.err


def test_one_sheet_by_two_names_is_not_both_either(book):
    other = book.parent / ".." / book.parent.name / book.name
    targets = f"{book}:Population", f"{book}:Sample"
    for done in (
        covshift(*COMMAND, f"{book}:Sample", other),
        covshift("diagnose", "--label", "y", book, *targets),
    ):
        assert done.code == 2
        assert "sheet 'Sample' is both the sample and the target" in done.err


def test_one_sheet_may_be_both_where_the_weights_differ(workbook):
    rows = [[k % 7, k % 2, 1 + k % 7] for k in range(60)]
    path = workbook(people=[["x", "y", "w"], *rows])
    done = covshift(*COMMAND, path, path, "--target-weight", "w")
    assert done.code == 0, done.err


def test_a_note_names_the_option_of_its_file(book, tmp_path, workbook):
    (tmp_path / "train.csv").write_text("x,y\n" + "1,0\n2,1\n3,1\n1.5,0\n" * 8)
    done = covshift("diagnose", "--label", "y", tmp_path / "train.csv", book)
    assert "'Sample' was read (--target-sheet names another)" in done.err
    done = covshift("diagnose", "--label", "y", book, tmp_path / "train.csv")
    assert "'Sample' was read (--sheet names another)" in done.err
    text = tmp_path / "train.csv"
    done = covshift("diagnose", text, text, "--target-sheet", "a")
    assert done.code == 2
    assert "train.csv is not an Excel workbook: it has no sheet 'a'" in done.err


def test_an_output_does_not_overwrite_the_book_of_a_sheet(book):
    given = (f"{book}:Sample", f"{book}:Population", "-o", book, "--force")
    done = covshift("estimate", "--outcome", "y", *given)
    assert done.code == 2
    assert "is an input file" in done.err
