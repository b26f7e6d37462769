"use strict";
document.documentElement.classList.add("js");
const all = (query, root = document) => [...root.querySelectorAll(query)];
const chosen = {};  // section -> label of the scale that is shown

function show(section, label) {
  const articles = all("article", section);
  const article = articles.find(a => a.dataset.label === label) || articles[0];
  chosen[section.id] = article.dataset.label;
  articles.forEach(a => a.classList.toggle("chosen", a === article));
  all(".scales button", section).forEach(b =>
    b.setAttribute("aria-pressed", b.dataset.label === article.dataset.label));
}

function search(typed) {
  const words = document.getElementById("search")?.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words) return;
  const hits = text => words.every(word => text.includes(word));
  all("section[data-words]").forEach(section => {
    const there = hits(section.dataset.words);
    section.classList.toggle("hidden", !there);
    all(`.index tr[data-for="${section.id}"]`).forEach(r => r.classList.toggle("hidden", !there));
  });
  if (typed && words.length) document.querySelector("section[data-words]:not(.hidden)")?.scrollIntoView();
}

function sort(head) {
  const table = head.closest("table"), body = table.tBodies[0], at = head.cellIndex;
  body.original ||= [...body.rows];
  const next = {none: "ascending", ascending: "descending", descending: "none"};
  const way = next[head.getAttribute("aria-sort") || "none"];
  all("th", table.tHead).forEach(th => th.removeAttribute("aria-sort"));
  if (way !== "none") head.setAttribute("aria-sort", way);
  const value = row => row.cells[at].dataset.value ?? row.cells[at].textContent.trim();
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)], [p, q] = [parseFloat(x), parseFloat(y)];
    if (x === "" || y === "") return (x === "") - (y === "");  // what has no number stays below
    const order = isNaN(p) || isNaN(q) ? x.localeCompare(y) : p - q;
    return way === "descending" ? -order : order;
  };
  body.append(...(way === "none" ? body.original : [...body.original].sort(compare)));
}

function add(parent, name, text, className) {
  const node = parent.appendChild(document.createElement(name));
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function detail(td) {
  const article = td.closest("article");
  article.content ||= JSON.parse(article.querySelector("script[type='application/json']").textContent);
  const content = article.content, cell = content.cells[td.dataset.cell];
  const dialog = document.getElementById("detail");
  dialog.replaceChildren();
  const close = add(dialog, "button", "×", "close");
  close.setAttribute("aria-label", "close");
  close.onclick = () => dialog.close();
  add(dialog, "h3", `${cell.row}, ${cell.column}: ${cell.metric}`);
  const list = add(dialog, "dl");
  const say = (name, value, kind) => {
    if (value === null || value === undefined || value === "") return;
    add(list, "dt", name); add(list, "dd", String(value), kind);
  };
  say("measured", cell.measured);
  say("after ±", cell.std);
  say("standard error", cell.uncertainty);
  say("paper", cell.paper == null ? null : cell.paper + (cell.paper_std ? ` ± ${cell.paper_std}` : ""));
  if (cell.verdict) {
    const away = (cell.measured - cell.paper).toPrecision(4);
    say("verdict", `${cell.verdict} (measured − paper = ${away})`, `v-${cell.verdict}`);
  }
  say("perfect", cell.perfect);
  say("seeds", cell.n_seeds || null);
  say("samples", cell.n_samples);
  say("status", cell.status);
  say("note", cell.note);
  for (const value of cell.values) {
    const run = content.runs[value.run] || {};
    add(dialog, "h3", `seed ${value.seed}: ${value.value}`);
    const made = add(dialog, "dl");
    const tell = (name, text) => { if (text) { add(made, "dt", name); add(made, "dd", text); } };
    tell("run", value.run);
    for (const [name, text] of Object.entries(run)) tell(name, text);
  }
  const made = cell.values.length > 0;
  if (made) {
    add(dialog, "h3", "Made by");
    add(dialog, "p", content.made_by);
  }
  if (made || cell.place) {
    add(dialog, "p", made ? "Make it again:" : "Make it:");
    add(dialog, "pre", cell.place ? `${content.command} ${cell.place}` : content.command);
  }
  dialog.showModal();
}

function below() {  // what one jumps to stands below the header, which is taller on some screens
  const header = document.querySelector("header");
  document.documentElement.style.setProperty("--head", `${header ? header.offsetHeight : 0}px`);
}

function wire() {
  all("td[data-cell]").forEach(cell => { cell.tabIndex = 0; cell.setAttribute("role", "button"); });
  all("section").forEach(section => show(section, chosen[section.id]));
  search();
}

document.addEventListener("click", event => {
  const link = event.target.closest("a[data-label]");
  if (link) show(document.getElementById(link.hash.slice(1)), link.dataset.label);
  const scale = event.target.closest(".scales button"), head = event.target.closest("th");
  const cell = event.target.closest("td[data-cell]");
  if (scale) show(scale.closest("section"), scale.dataset.label);
  else if (head && event.target.closest("th button")) sort(head);
  else if (cell) detail(cell);
  else if (event.target.id === "detail") event.target.close();  // beside the dialog
});
document.addEventListener("keydown", event => {
  const cell = event.target.closest?.("td[data-cell]");
  if (cell && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); detail(cell); }
});
document.addEventListener("input", event => { if (event.target.id === "search") search(true); });

async function follow(stamp) {  // only where `jumpbench report --serve` says so
  const note = document.getElementById("follow");
  try {
    const now = await (await fetch("changed")).text();
    note.textContent = "following";
    if (now !== stamp && !document.getElementById("detail").open) {
      const page = await (await fetch("./")).text();
      const main = new DOMParser().parseFromString(page, "text/html").querySelector("main");
      document.querySelector("main").replaceWith(main);
      wire();
      stamp = now;
    }
  } catch { note.textContent = "server stopped"; }
  setTimeout(follow, 2000, stamp);
}

below();
addEventListener("resize", below);
wire();
if (location.protocol.startsWith("http") && document.body.dataset.stamp)
  follow(document.body.dataset.stamp);
