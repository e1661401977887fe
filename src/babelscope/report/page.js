"use strict";
(() => {
const PAGE = 20;
const NOT_RIGHT = "not right";

const make = (name, kind, text) => {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  if (text !== undefined) element.append(visible(text));  // never as HTML
  return element;
};
const number = (value) => value.toLocaleString("en");
const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(2).replace("-", "−");

// -- tables ------------------------------------------------------------------------------------------

const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
const latex = (text) => text.replace(/[\\~^&%$#_{}]/g, (mark) => LATEX[mark] || "\\" + mark);
const FORMATS = {
  Markdown: ({ title, rows: [head, ...rows], labels, notes, signatures }) => {
    const line = (cells) =>
      "| " + cells.map((cell) => cell.replace(/\\/g, "\\\\").replace(/\|/g, "\\|")).join(" | ") + " |";
    const rule = "|" + head.map((_, place) => (place < labels ? "---" : "---:")).join("|") + "|";
    const below = notes.flatMap((each) => ["", each]);
    return [
      `**${title}**`, "", line(head), rule, ...rows.map(line), ...below, "", ...signatures.map((each) => "`" + each + "`"),
    ];
  },
  LaTeX: ({ title, rows: [head, ...rows], labels, notes, signatures }) => {
    const line = (cells) => cells.map(latex).join(" & ") + " \\\\";
    const columns = "l".repeat(labels) + "r".repeat(head.length - labels);
    return [
      `% ${title}`, `\\begin{tabular}{${columns}}`, "\\toprule", line(head), "\\midrule", ...rows.map(line),
      "\\bottomrule", "\\end{tabular}", ...[...notes, ...signatures].map((each) => `% ${each}`),
    ];
  },
  CSV: ({ rows, notes, signatures }) => {
    // A cell that a spreadsheet would take for a formula is kept from being one.
    const safe = (cell) => (/^[=+@\t\r]/.test(cell) || /^-(?![\d.])/.test(cell) ? "'" + cell : cell);
    const quoted = (cell) => (/[",\n\r]/.test(cell) ? '"' + cell.replace(/"/g, '""') + '"' : cell);
    return [...rows, ...[...notes, ...signatures].map((each) => ["# " + each])].map((row) => row.map(safe).map(quoted).join(","));
  },
};

async function put(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // an older browser, or one that asks for a permission
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const sheet = button.closest(".sheet");
    const cells = (row) => [...row.cells].map((cell) => cell.textContent);
    const lines = FORMATS[button.dataset.copy]({
      title: sheet.querySelector("caption").textContent,
      rows: [...sheet.querySelectorAll("tr")].map(cells),
      labels: Number(button.dataset.labels),
      notes: [...sheet.querySelectorAll(".note")].map((each) => each.textContent),
      signatures: [...sheet.querySelectorAll(".signature")].map((each) => each.textContent),
    });
    await put(lines.join("\n") + "\n");
    const name = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = name; }, 1200);
  });
}

// -- items -------------------------------------------------------------------------------------------

const MOST = 2000;  // tokens; a browser takes minutes to lay out very many elements in a line
const STEPS = { difference: [0.05, 0.3, 1, 3], surprise: [0.7, 1.6, 3, 5] };

function tokens(list, colors) {
  const line = make("span");
  const long = list.length > MOST;
  // Pieces that carry their space (▁, Ġ) are joined as they are; others get one between.
  const marked = list.some(([text]) => /^[▁Ġ ]/.test(text));
  const plain = [];
  list.forEach(([text, value, apart], place) => {
    const end = text === "</s>";
    let shown = end ? " (end)" : marked ? text.replace(/^[▁Ġ]/, " ") : (place ? " " : "") + text;
    if (!place) shown = shown.replace(/^ /, "");
    if (long) return plain.push(shown);
    let kind = "tok" + (end ? " end" : "") + (apart ? " parted" : "");
    if (value !== null && colors) {
      const step = STEPS[colors].filter((edge) => Math.abs(value) >= edge).length;
      if (step) kind += (value > 0 ? " p" : " m") + step;
    }
    const token = make("span", kind, shown);
    if (value !== null) token.title = `${signed(value)} nats` + (apart ? ", all that is underlined" : "");
    line.append(token);
  });
  if (long) line.append(visible(plain.join("")), make("span", "quiet", " (too long: tokens are not colored or marked)"));
  return line;
}

function lines(list, colors) {
  const box = make("dl", "lines");
  for (const [label, shown] of list) {
    const text = make("dd");
    text.dir = "auto";
    text.append(typeof shown === "string" ? visible(shown) : tokens(shown, colors));
    box.append(make("dt", "", label), text);
  }
  return box;
}

function card(item, data, answers) {
  const box = make("li", "item");
  const head = make("div", "item-head");
  head.append(make("code", "", item.id));
  if (data.tests.length > 1) head.append(make("span", "", data.tests[item.t]));
  if (item.k) head.append(make("span", "", item.k));
  const texts = make("div", "texts");
  texts.append(lines([["source", item.s]], ""));
  if (item.x.length) texts.append(lines(item.x, ""));
  box.append(head, texts);
  const all = make("div", "answers");
  for (const answer of answers) {
    const system = data.systems.find((each) => each.series === answer.s);
    const part = make("div", "answer");
    const title = make("div", "answer-head");
    title.append(make("b", `s${answer.s % 6}`, system.name));
    if (answer.v) title.append(make("span", `badge ${answer.c}`, answer.v));
    if (answer.m !== null) title.append(make("span", "margin", data.signed ? signed(answer.m) : answer.m.toFixed(2)));
    if (answer.f) title.append(make("span", "quiet", answer.f));
    part.append(title, lines(answer.x, data.colors));
    all.append(part);
  }
  box.append(all);
  return box;
}

const ORDERS = {
  order: ["order of the test set", null],
  least: ["least first", (one, other) => one.low - other.low],
  most: ["greatest first", (one, other) => other.high - one.high],
  close: ["closest to 0 first", (one, other) => one.close - other.close],
  differ: ["systems differ most", (one, other) => other.high - other.low - (one.high - one.low)],
};

function explorer(box) {
  const data = JSON.parse(document.getElementById(box.dataset.items).textContent);
  const control = (name) => box.querySelector(`[name="${name}"]`);
  const controls = ["search", "tests", "group", "system", "verdict", "sort"].map(control);
  const [search, tests, group, system, verdict, sort] = controls;
  const list = box.querySelector(".items");
  const count = box.querySelector(".count");
  const [back, next] = box.querySelectorAll("[data-step]");
  let found = [];
  let page = 0;

  const offer = (select, values, all) => {
    select.append(new Option(all, ""));
    for (const each of values) select.append(new Option(visibleText(each), each));
    select.parentElement.hidden = values.length < 2;
  };
  const unique = (values) => [...new Set(values)].filter((each) => each !== "");
  const answers = data.items.flatMap((item) => item.a);
  const verdicts = unique(answers.flatMap((each) => [each.v, ...(each.w || [])]));
  if (answers.some((each) => each.c === "errors" || each.c === "some")) verdicts.unshift(NOT_RIGHT);
  offer(tests, data.tests, "all");
  offer(group, unique(data.items.flatMap((item) => item.g)).sort(), "all");
  offer(system, data.systems.map((each) => each.name), "all");
  offer(verdict, verdicts, "all");
  data.signed = answers.some((each) => each.m < 0);
  const around = data.signed && answers.some((each) => each.m > 0);
  const known = answers.some((each) => each.m !== null);
  for (const [name, [label]] of Object.entries(ORDERS)) {
    if (name === "close" && !around) continue;
    if (name === "differ" && data.systems.length < 2) continue;
    if (name === "order" || known) sort.append(new Option(label, name));
  }

  const words = (item) => {
    const text = (shown) => (typeof shown === "string" ? shown : shown.map(([token]) => token).join("").replace(/[▁Ġ]/g, " "));
    item.words ??= [
      item.id, item.s, ...item.g, ...item.x.map(([, shown]) => text(shown)),
      ...item.a.flatMap((each) => [each.f, ...each.x.map(([, shown]) => text(shown))]),
    ].join("\n").toLowerCase();
    return item.words;
  };

  function show() {
    const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
    page = Math.min(Math.max(page, 0), last);
    const here = found.slice(page * PAGE, page * PAGE + PAGE);
    list.replaceChildren(...here.map(({ item, own }) => card(item, data, own)));
    list.start = page * PAGE + 1;
    count.textContent = `${number(found.length)} of ${number(data.items.length)} items`;
    box.querySelector(".page").textContent = `page ${number(page + 1)} of ${number(last + 1)}`;
    back.disabled = page === 0;
    next.disabled = page === last;
    box.querySelector(".pages").hidden = last === 0;
  }

  function update() {
    const asked = search.value.trim().toLowerCase();
    const chosen = data.systems.find((each) => each.name === system.value);
    const set = data.tests.indexOf(tests.value);
    const fits = (answer) =>
      !verdict.value || answer.v === verdict.value || (answer.w || []).includes(verdict.value) ||
      (verdict.value === NOT_RIGHT && (answer.c === "errors" || answer.c === "some"));
    found = [];
    for (const item of data.items) {
      if (tests.value && item.t !== set) continue;
      if (group.value && !item.g.includes(group.value)) continue;
      const own = chosen ? item.a.filter((each) => each.s === chosen.series) : item.a;
      if (!own.some(fits) || (asked && !words(item).includes(asked))) continue;
      const known = own.map((each) => each.m).filter((each) => each !== null);
      const entry = { item, own, low: Infinity, high: -Infinity, close: Infinity };
      if (known.length) {
        entry.low = Math.min(...known);
        entry.high = Math.max(...known);
        entry.close = Math.min(...known.map(Math.abs));
      }
      found.push(entry);
    }
    const compare = (ORDERS[sort.value] || ORDERS.order)[1];
    // What has no figure stands last, whatever the order.
    const unknown = (entry) => (entry.low === Infinity ? 1 : 0);
    if (compare) found.sort((one, other) => unknown(one) - unknown(other) || compare(one, other) || 0);
    page = 0;
    show();
  }

  for (const each of controls) each.addEventListener(each === search ? "input" : "change", update);
  for (const button of [back, next]) {
    button.addEventListener("click", () => {
      page += Number(button.dataset.step);
      show();
      count.scrollIntoView({ block: "nearest" });
    });
  }
  return (query) => {
    for (const each of controls) each.value = query.get(each.name) ?? (each === sort ? "order" : "");
    // Something that is not on offer would leave a list empty without saying why.
    for (const each of controls) if (each.selectedIndex === -1) each.selectedIndex = 0;
    update();
  };
}

// Data is read when its part of the page comes near, or is asked for by a link.
const opened = new Map();
function open(box, query) {
  if (!opened.has(box)) opened.set(box, explorer(box));
  opened.get(box)(query);
}
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting && !opened.has(entry.target)) open(entry.target, new URLSearchParams());
  }
}, { rootMargin: "1000px" });
for (const box of document.querySelectorAll(".explorer")) watcher.observe(box);

function follow() {
  const [name, query] = location.hash.slice(1).split("?");
  const box = document.getElementById(name);
  if (query === undefined || !box || !box.classList.contains("explorer")) return;
  open(box, new URLSearchParams(query));
  box.scrollIntoView();
  box.querySelector("h3").focus({ preventScroll: true });
}
addEventListener("hashchange", follow);
follow();

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details.reading")) details.open = true;
  for (const box of document.querySelectorAll(".explorer")) if (!opened.has(box)) open(box, new URLSearchParams());
});
})();
