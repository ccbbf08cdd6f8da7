"use strict";
// Tables with class "sortable": a click on a heading sorts by its column, a second one reverses.
document.querySelectorAll("table.sortable").forEach((table) => {
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
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
    });
  });
});
