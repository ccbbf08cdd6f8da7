"use strict";
// Tables with class "sortable": a click on a heading sorts by its column, a second one reverses;
// a button copies the table as CSV. Without this script they are plain tables. A button copies the
// text of a methods section.
const number = (cell) => cell.dataset.value;
const text = (cell) => (cell.dataset.text ?? cell.firstChild?.textContent ?? "").trim();
const small = (cell) => cell.querySelector("small")?.textContent ?? "";

const sortBy = (table, heads, column) => {
  const body = table.tBodies[0];
  const head = heads[column];
  const up = head.getAttribute("aria-sort") !== "ascending";
  const value = (row) => number(row.cells[column]) ?? row.cells[column].textContent;
  const key = (row) => (value(row) === "" ? null : Number(value(row)));
  const numeric = Array.from(body.rows).every((row) => !Number.isNaN(key(row) ?? 0));
  const compare = (a, b) => {
    if (value(a) === "" || value(b) === "") return (value(a) === "") - (value(b) === "");
    const order = numeric ? key(a) - key(b) : value(a).localeCompare(value(b));
    return up ? order : -order;
  };
  Array.from(body.rows).sort(compare).forEach((row) => body.append(row));
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
};

// One line per row; small print below a cell gets a column of its own.
const asCSV = (table) => {
  const rows = [table.tHead.rows[0], ...table.tBodies[0].rows].map((row) => Array.from(row.cells));
  const detailed = rows[0].map((_, k) => rows.slice(1).some((cells) => small(cells[k]) !== ""));
  const quoted = (word) => (/[",\n\r]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word);
  const inert = (word) => (/^[=+\-@\t]/.test(word) ? `'${word}` : word); // no formula in a sheet
  const line = (cells, at) =>
    cells.flatMap((cell, k) => {
      const name = at === 0 ? cell.textContent.trim() : number(cell) ?? text(cell);
      const first = at === 0 || cell.tagName === "TH" ? inert(name) : name;
      const more = at === 0 ? `${name} (detail)` : small(cell);
      return detailed[k] ? [first, more] : [first];
    });
  return rows.map((cells, at) => line(cells, at).map(quoted).join(",")).join("\r\n") + "\r\n";
};

const copyText = async (words) => {
  try {
    await navigator.clipboard.writeText(words);
  } catch {
    const area = document.createElement("textarea");
    area.value = words;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("not copied");
  }
};

// A button below an element that copies what it stands for.
const offer = (element, title, words) => {
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "copy";
  copy.textContent = title;
  copy.setAttribute("aria-live", "polite");
  copy.addEventListener("click", async () => {
    const said = await copyText(words()).then(() => "Copied", () => "Could not be copied");
    copy.textContent = said;
    setTimeout(() => (copy.textContent = title), 2000);
  });
  element.after(copy);
};

document.querySelectorAll("table.sortable").forEach((table) => {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, heads, column));
    head.append(button);
  });
  offer(table.parentElement, "Copy as CSV", () => asCSV(table));
});

document.querySelectorAll(".paper").forEach((text) => {
  offer(text, "Copy the text", () => text.textContent.trim() + "\n");
});
