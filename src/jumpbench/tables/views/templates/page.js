"use strict";
document.documentElement.classList.add("js");
const all = (query, root = document) => [...root.querySelectorAll(query)];
const chosen = {}, besides = {};  // section -> label of the scale that is shown, and of the one beside it

function show(section, label) {
  const articles = all("article", section);
  const article = articles.find(a => a.dataset.label === label) || articles[0];
  chosen[section.id] = article.dataset.label;
  const other = articles.find(a => a !== article && a.dataset.label === besides[section.id]);
  articles.forEach(a => {
    a.classList.toggle("chosen", a === article);
    a.classList.toggle("beside", a === other);
  });
  section.querySelector(".variants").classList.toggle("two", Boolean(other));
  [article, other].forEach(a => a && near.observe(a));
  all(".scales button", section).forEach(b =>
    b.setAttribute("aria-pressed", b.dataset.label === article.dataset.label));
}

const near = new IntersectionObserver(  // what is drawn is drawn when one comes to it
  seen => seen.forEach(entry => entry.isIntersecting && plot(entry.target)), {rootMargin: "300px"});

function search(typed) {
  const words = document.getElementById("search")?.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words) return;
  const wanted = all("select[data-filter]").filter(s => s.value);
  const fits = row => wanted.every(s => row.dataset[s.dataset.filter].split(" ").includes(s.value));
  let found = 0;
  all("section[data-words]").forEach(section => {
    const named = words.every(word => section.dataset.words.includes(word));
    const rows = all(`.index tr[data-for="${section.id}"]`), kept = rows.filter(r => named && fits(r));
    rows.forEach(r => r.classList.toggle("hidden", !kept.includes(r)));
    section.classList.toggle("hidden", rows.length ? !kept.length : !named || wanted.length > 0);
    found += kept.length;
    const labels = kept.map(r => r.querySelector("a").dataset.label);
    if (wanted.length && labels.length && !labels.includes(chosen[section.id])) show(section, labels[0]);
  });
  const count = document.getElementById("found");
  if (count) count.textContent = wanted.length || words.length ? `${found} found` : "";
  if (typed && words.length) document.querySelector("section[data-words]:not(.hidden)")?.scrollIntoView();
}

function sort(head) {
  const table = head.closest("table"), body = table.tBodies[0], at = head.cellIndex;
  body.original ||= [...body.rows];
  const next = {none: "ascending", ascending: "descending", descending: "none"};
  const way = next[head.getAttribute("aria-sort") || "none"];
  all("th", table.tHead).forEach(th => th.removeAttribute("aria-sort"));
  if (way !== "none") head.setAttribute("aria-sort", way);
  const numbers = at && table.closest(".blocks");
  const value = row => numbers ? measured(row.cells[at]) ?? "" : row.cells[at].textContent.trim();
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

const heads = td => [  // row, column and metric of a cell, as the page calls them
  td.parentNode.cells[0].textContent, td.closest("table").tHead.rows[0].cells[td.cellIndex].textContent,
  td.closest(".blocks > div").querySelector("h3").textContent].map(text => text.trim());

const address = td => "#" + [td.closest("section").id, td.closest("article").dataset.label, ...heads(td)]
  .map(encodeURIComponent).join("/");

function jump() {  // to a cell, if that is what the address names
  const [id, label, ...names] = location.hash.slice(1).split("/").map(part => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
  const section = label && document.getElementById(id);
  if (!section) return;
  show(section, label);
  const cell = all("article.chosen td[data-cell]", section).find(td => heads(td).join() === names.join());
  all("td.found").forEach(td => td.classList.remove("found"));
  (cell || section).scrollIntoView(cell ? {block: "center", inline: "center"} : {});
  cell?.classList.add("found");
}

const colour = (i, n) => `hsl(${360 * i / n} 60% ${[45, 60][i % 2]}%)`;

// lines: {row, points: [[x, y, what x is called, the paper's number, error], ...]}
// race: both axes are logarithmic, and lines stand at its floors
function chart(place, lines, x, name, bars, race) {
  const W = 640, H = 230, L = 56, B = 24, T = 8, n = lines.length;
  const ys = lines.flatMap(l => l.points.flatMap(p => [p[1], p[3] ?? NaN])).filter(isFinite);
  const xs = lines.flatMap(l => l.points.flatMap(p => bars ? [p[0] - .5, p[0] + .5] : [p[0]]));
  if (race) ys.push(...race.floors);
  const log = race || Math.min(...ys) > 0 && Math.max(...ys) > 20 * Math.min(...ys), f = log ? Math.log : y => y;
  const g = race ? Math.log : v => v;
  if (bars && !log) ys.push(0);
  const [x0, x1, y0, y1] = [g(Math.min(...xs)), g(Math.max(...xs)), f(Math.min(...ys)), f(Math.max(...ys))];
  const px = v => L + (W - L - 8) * (g(v) - x0) / ((x1 - x0) || 1), py = v => H - B - (H - B - T) * (f(v) - y0) / ((y1 - y0) || 1);
  const node = add(place, "div", undefined, "plot"), off = new Set();
  add(node, "b", name + (race ? ` over ${x}, logarithmic` : log ? ", logarithmic" : ""));
  const svg = node.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  svg.setAttribute("role", "img"); svg.setAttribute("aria-label", `${name} over ${x}`);
  const draw = (tag, values, text) => {
    const made = svg.appendChild(document.createElementNS(svg.namespaceURI, tag));
    Object.entries(values).forEach(([key, value]) => made.setAttribute(key, value));
    if (text !== undefined) made.textContent = text;
    return made;
  };
  for (const k of [0, .25, .5, .75, 1]) {
    const value = log ? Math.exp(y0 + k * (y1 - y0)) : y0 + k * (y1 - y0), y = py(value);
    draw("path", {d: `M${L},${y}H${W - 8}`, class: "grid"});
    draw("text", {x: L - 5, y: y + 4, "text-anchor": "end"}, +value.toPrecision(3));
  }
  const [first, last] = [lines[0].points[0], lines[0].points.at(-1)];
  for (const floor of race?.floors ?? []) draw("path", {d: `M${L},${py(floor)}H${W - 8}`, class: "floor"});
  for (const k of race ? [0, .25, .5, .75, 1] : [])
    draw("text", {x: L + k * (W - L - 8), y: H - 6, "text-anchor": ["start", "middle", "end"][Math.ceil(k) + (k === 1)]},
      +Math.exp(x0 + k * (x1 - x0)).toPrecision(2));
  if (!race) draw("text", {x: L, y: H - 6}, first[2] ?? x0);
  if (!race && last !== first) draw("text", {x: W - 8, y: H - 6, "text-anchor": "end"}, last[2] ?? `${x1} (${x})`);
  const at = draw("path", {class: "at"}), tip = add(node, "div", "", "tip"), keys = add(node, "div", undefined, "keys");
  lines.forEach((line, i) => {
    const wide = .85 / n, at = a => px(bars ? a - .425 + (i + .5) * wide : a).toFixed(1), up = b => py(b).toFixed(1);
    const half = (px(wide) - px(0)) / 2, base = (log ? H - B : py(0)).toFixed(1);
    const d = line.points.map(([a, b, , paper, error], k) =>
      (bars ? `M${at(a) - half},${base}V${up(b)}h${2 * half}V${base}` : `${k ? "L" : "M"}${at(a)},${up(b)}`) + (race ? `m-2,0a2,2 0 1,0 4,0a2,2 0 1,0 -4,0m2,0` : "") +
      (error && (race || b - error > (log ? 0 : -Infinity)) ? `M${at(a)},${up(race ? Math.max(b - error, Math.exp(y0)) : b - error)}V${up(b + error)}M${at(a)},${up(b)}` : "") +
      (Number.isFinite(paper) ? `M${at(a) - 6},${up(paper)}h12M${at(a)},${up(b)}` : "")).join("");
    const path = draw("path", {d, class: bars ? "line bar" : "line", style: `stroke:${colour(i, n)};--key:${colour(i, n)}`});
    const key = add(keys, "button", line.row);
    key.type = "button"; key.style.setProperty("--key", colour(i, n)); key.setAttribute("aria-pressed", true);
    key.onclick = () => {
      off.has(i) ? off.delete(i) : off.add(i);
      key.setAttribute("aria-pressed", !off.has(i)); path.classList.toggle("hidden", off.has(i));
    };
  });
  svg.onpointermove = event => {
    const box = svg.getBoundingClientRect(), where = (event.clientX - box.left) / box.width * W;
    const near = l => l.points.reduce((a, b) => Math.abs(px(b[0]) - where) < Math.abs(px(a[0]) - where) ? b : a);
    const found = lines.filter((_, i) => !off.has(i)).map(l => [l.row, near(l)]);
    if (!found.length) return;
    at.setAttribute("d", `M${px(found[0][1][0])},${T}V${H - B}`);
    tip.textContent = race ? found.map(([row, p]) => `${row} ${+p[1].toPrecision(3)}${p[4] ? ` ± ${+p[4].toPrecision(2)}` : ""} at ${+p[0].toPrecision(3)}`).join("; ") : `${found[0][1][2] ?? x + " " + found[0][1][0]}: ` + found.map(([row, p]) => `${row} ${+p[1].toPrecision(4)}`).join("; ");
  };
  svg.onpointerleave = () => { at.removeAttribute("d"); tip.textContent = ""; };
}

function plot(article) {  // once: numbers over columns that count upwards, and learning curves
  if (article.plotted) return;
  article.plotted = true;
  const number = text => parseFloat(text.match(/-?\d+(\.\d+)?(e[-+]?\d+)?(?=\D*$)/)?.[0]);
  all(".blocks > div", article).forEach(block => {
    const table = block.querySelector("table"), names = [...table.tHead.rows[0].cells].slice(1).map(h => h.textContent.trim());
    const xs = names.map(number), place = article.querySelector(".plots");
    const bars = xs.length < 3 || !xs.every((x, i) => x > (i ? xs[i - 1] : -Infinity));
    if (bars && !("bars" in place.dataset)) return;
    const lines = [...table.tBodies[0].rows].map(row => ({row: row.cells[0].textContent.trim(), points: [...row.cells].slice(1)
      .map((cell, i) => [i, measured(cell) ?? NaN, names[i], parseFloat(cell.querySelector("small")?.textContent.replace("paper", "")),
        parseFloat(cell.querySelector(".n")?.textContent.split("±")[1])]).filter(p => isFinite(p[1]))})).filter(l => l.points.length > !bars);
    if (lines.length) chart(place, lines, "column", block.querySelector("h3").textContent, bars);
  });
  content(article).races.forEach(race => chart(article.querySelector(".plots"), race.lines, race.x, race.name, false, race));
  const place = article.querySelector(".plot[data-x]"), runs = all(".curves li", article);
  new Set(runs.map(r => r.dataset.name)).forEach(name => chart(place, runs.filter(r => r.dataset.name === name)
    .map(r => ({row: r.dataset.row, points: JSON.parse(r.dataset.points)})), "step", name));
}

function content(article) {  // a cell comes as its kind, whose names stand once, and its values
  if (!article.content) {
    const read = JSON.parse(article.querySelector("script[type='application/json']").textContent);
    const named = ([kind, ...values]) => Object.fromEntries(read.kinds[kind].map((name, i) => [name, values[i]]));
    const cells = read.cells.map(named);
    cells.filter(cell => cell.values.length === 1).forEach(cell => cell.measured ??= cell.values[0][1]);
    article.content = {...read, cells};
  }
  return article.content;
}

const measured = td => "cell" in td.dataset ? content(td.closest("article")).cells[td.dataset.cell].measured : undefined;

function detail(td) {
  const article = td.closest("article"), {cells, runs, places, made_by, command} = content(article), cell = cells[td.dataset.cell];
  const dialog = document.getElementById("detail");
  dialog.replaceChildren();
  const close = add(dialog, "button", "×", "close");
  close.setAttribute("aria-label", "close");
  close.onclick = () => dialog.close();
  const [row, column, metric] = heads(td);
  add(dialog, "h3", `${row}, ${column}: ${metric}`);
  const link = add(dialog, "a", "link to this cell");
  link.href = address(td);
  link.onclick = () => dialog.close();
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
  say("seeds", (cell.n_seeds ?? cell.values.length) || null);
  say("samples", cell.n_samples);
  say("status", cell.status ?? "measured");
  say("note", cell.note);
  for (const [seed, value, run] of cell.values) {
    add(dialog, "h3", `seed ${seed}: ${value}`);
    const made = add(dialog, "dl");
    const tell = (name, text) => { if (text) { add(made, "dt", name); add(made, "dd", text); } };
    for (const [name, text] of Object.entries(runs[run])) tell(name, text);
  }
  const made = cell.values.length > 0;
  if (made) {
    add(dialog, "h3", "Made by");
    add(dialog, "p", made_by);
  }
  const place = places[cell.place];
  if (made || place) {
    add(dialog, "p", made ? "Make it again:" : "Make it:");
    add(dialog, "pre", place ? `${command} ${place}` : command);
  }
  dialog.showModal();
}

function below() {  // what one jumps to stands below the header, which is taller on some screens
  const header = document.querySelector("header");
  document.documentElement.style.setProperty("--head", `${header ? header.offsetHeight : 0}px`);
}

function wire() {
  all("td[data-cell]").forEach(cell => { cell.tabIndex = 0; cell.setAttribute("role", "button"); });
  all("section[data-words]:has(.variants)").forEach(section => show(section, chosen[section.id]));
  search();
  jump();
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
document.addEventListener("input", event => {
  const input = event.target, section = input.closest("section");
  if (input.id === "search") search(true);
  if (input.dataset.filter) search();
  if (!("beside" in input.dataset)) return;
  besides[section.id] = input.value;
  show(section, chosen[section.id]);
});
addEventListener("hashchange", jump);

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
