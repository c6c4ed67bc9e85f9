"use strict";
// Sorting, filtering, and opening everything for the printer. Without it the page reads as well.
(() => {
  const text = (row, at) => row.cells[at].textContent.trim();
  const number = (cell) => {
    const value = parseFloat(cell.replace(/,/g, ""));
    return Number.isNaN(value) ? -Infinity : value;
  };
  for (const table of document.querySelectorAll("table.sorts")) {
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falls = head.getAttribute("aria-sort") === (head.classList.contains("n") ? "descending" : "ascending");
        const order = head.classList.contains("n") === falls ? "ascending" : "descending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const numeric = head.classList.contains("n");
        const rows = [...table.tBodies[0].rows].map((row) => [numeric ? number(text(row, at)) : text(row, at), row]);
        rows.sort(([a], [b]) => sign * (numeric ? (a === b ? 0 : a < b ? -1 : 1) : a.localeCompare(b, undefined, {numeric: true})));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }
  const controls = document.getElementById("controls");
  if (controls) {
    const [typed, item, state, shown] = ["text", "item", "state", "shown"].map((id) => document.getElementById(id));
    const rows = [...document.getElementById("students").tBodies[0].rows];
    const filter = () => {
      const wanted = typed.value.trim().toLowerCase();
      let count = 0;
      for (const row of rows) {
        const signs = row.cells[row.cells.length - 1].textContent;
        const words = [...row.cells].slice(0, -1).map((cell) => cell.textContent).join(" ").toLowerCase();
        const at = item.value === "" ? null : Number(item.value);
        const fits = state.value === "" || (at === null ? signs.includes(state.value) : signs[at] === state.value);
        row.hidden = !(words.includes(wanted) && fits);
        count += !row.hidden;
      }
      shown.textContent = shown.dataset.words.replace("{n}", count).replace("{m}", rows.length);
    };
    const names = new Map([...item.options].map((option) => [option.value, option.textContent]));
    document.getElementById("students").addEventListener("mousemove", (event) => {
      const cell = event.target.closest("td.t");
      if (!cell || !cell.firstChild) return;
      const range = document.createRange();
      range.selectNodeContents(cell);
      const box = range.getBoundingClientRect();
      const at = Math.floor((event.clientX - box.left) / (box.width / cell.textContent.length));
      cell.title = names.get(String(at)) || "";
    });
    controls.hidden = false;
    controls.addEventListener("input", filter);
    controls.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
})();
