"use strict";
// One item at a time: show it, take the answer, wait until the server has it on disk, continue.
// Whatever comes from the file is set as text, never as markup.

const $ = (id) => document.getElementById(id);
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const KEYS = {
  label: [["1 – 9", "answer and continue"], ["↑ ↓ Enter", "choose, answer and continue"]],
  score: [["0 – 100 Enter", "save and continue"], ["↑ ↓", "one more, one less"]],
  list: [["0 – 100 Enter", "save, to the next one"], ["1 – 5", "the whole list"]],
};
const MOVES = [["← →", "back and forth"]];
const narrow = matchMedia("(max-width: 60rem)");

let session;
let here = 0; // the place of the item shown
let saving = 0; // answers that are on their way

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const answerOf = (each) => session.answers[each.key];
const isComplete = (answer) =>
  answer !== undefined && !Object.values(answer).flat().includes(null);

// --- asking and saving

async function start() {
  const response = await fetch("session");
  if (!response.ok) {
    $("title").textContent = await reason(response);
    return;
  }
  session = await response.json();
  $("annotator").textContent = session.annotator;
  $("total").textContent = session.items.length;
  $("progress").max = session.items.length;
  const judged = showProgress();
  $("guidelines").open = judged === 0 || !narrow.matches;
  if (judged === session.items.length) showDone();
  else show(nextOpen(-1));
}

async function reason(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error;
  } catch {
    return text;
  }
}

// True when the answer is on the server's disk; answers are sent one after another.
let last = Promise.resolve(true);
let sent = "";
function save(item, answer) {
  const what = JSON.stringify([item.key, answer]);
  if (saving && what === sent) return last; // Enter and leaving the field come at the same time
  sent = what;
  saving += 1;
  last = last
    .then(() => send(item, answer))
    .finally(() => {
      saving -= 1;
    });
  return last;
}

// A server that is gone is tried again until it is back.
async function send(item, answer) {
  const body = JSON.stringify({ item: item.key, answer });
  for (let wait = 500; ; wait = Math.min(2 * wait, 5000)) {
    try {
      const headers = { "Content-Type": "application/json" };
      const response = await fetch("answers", { method: "POST", headers, body });
      if (response.ok) break;
      showStatus(`Not saved: ${await reason(response)}`, true);
      return false;
    } catch {
      showStatus("Not saved yet: the server does not answer. Trying again…", true);
      await new Promise((done) => setTimeout(done, wait));
    }
  }
  session.answers[item.key] = answer;
  showStatus("Saved");
  showProgress();
  return true;
}

function showStatus(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

function showProgress() {
  const judged = session.items.filter((each) => isComplete(answerOf(each))).length;
  $("judged").textContent = judged;
  $("progress").value = judged;
  return judged;
}

// --- going from item to item

// The first item after a place that is still to be judged, from the beginning again after the last one.
function nextOpen(after) {
  const count = session.items.length;
  for (let step = 1; step <= count; step++) {
    const place = (after + step) % count;
    if (!isComplete(answerOf(session.items[place]))) return place;
  }
  return -1;
}

function showNext() {
  const place = nextOpen(here);
  if (narrow.matches) $("guidelines").open = false; // they have been read, and the next item needs the room
  if (place < 0) showDone();
  else show(place);
}

async function move(step) {
  if (saving || !session || (await leave()) === false) return;
  const place = here + step;
  if (place >= 0 && place < session.items.length) show(place);
}

function showDone() {
  $("title").textContent = "Done. Thank you!";
  $("item").hidden = $("steps").hidden = $("aside").hidden = true;
  $("done").hidden = false;
  $("title").focus();
}

// --- showing an item

let leave = async () => true; // saves what was typed; false if that failed
let press = () => {}; // what a digit does

function show(place) {
  here = place;
  const item = session.items[place];
  const kind = session.kinds[item.kind];
  $("done").hidden = true;
  $("item").hidden = $("steps").hidden = $("aside").hidden = false;
  $("title").textContent = kind.title;
  $("number").textContent = `Item ${place + 1} of ${session.items.length}`;
  $("blocks").replaceChildren(...item.blocks.map(showBlock));
  $("guidelines-text").replaceChildren(
    ...(session.guidelines.length
      ? session.guidelines.map(showMarkdown)
      : kind.guidelines.map((text) => element("p", { textContent: text }))),
  );
  const keys = [...KEYS[kind.form], ...MOVES];
  $("keys").replaceChildren(
    ...keys.map(([key, what]) => element("li", {}, element("kbd", { textContent: key }), ` ${what}`)),
  );
  $("back").disabled = place === 0;
  $("next").disabled = place === session.items.length - 1;
  showStatus(isComplete(answerOf(item)) ? "Judged; you can change it" : "");
  leave = async () => true;
  press = () => {};
  $("answer").replaceChildren();
  scrollTo(0, 0);
  $("number").focus();
  ({ label: askLabel, score: askScore, list: askList })[kind.form](item, kind);
}

const TAGS = { heading: "h3", paragraph: "p", bullet: "p", number: "p", quote: "blockquote", code: "pre" };
const STYLES = { bold: "b", italic: "i", code: "code" };

// One's own guidelines: the server has read the Markdown, and every piece of it becomes text.
function showMarkdown({ kind, mark, depth, pieces }) {
  const box = element(TAGS[kind] || "p", { dir: "auto", className: `${kind} depth-${depth}` });
  if (mark) box.append(`${mark} `);
  for (const [text, style] of pieces) {
    box.append(STYLES[style] ? element(STYLES[style], {}, visible(text)) : visible(text));
  }
  return box;
}

function showBlock({ title, pieces, role, note }) {
  const text = element("p", { dir: "auto" });
  for (const [piece, marked] of pieces) text.append(marked ? element("mark", {}, visible(piece)) : visible(piece));
  if (!text.textContent.trim()) text.replaceChildren(nothing());
  const box = element("section", { className: `block ${role}` }, element("h3", {}, visible(title)), text);
  if (note) box.append(element("p", { className: "hint", textContent: note }));
  return box;
}

const nothing = () => element("span", { className: "nothing", textContent: "(nothing: the text is empty)" });

// Buttons for labels, answered by their numbers too.
function choices(question, labels, chosen, choose) {
  let busy = false; // a key pressed twice is one answer
  const buttons = labels.map(({ value, hint }, number) => {
    const name = value === String(number + 1) ? hint : value;
    const words = element("span", {}, element("span", { className: "label", textContent: name }));
    if (name !== hint) words.append(element("span", { className: "hint", textContent: hint }));
    const button = element("button", { type: "button", className: "choice" });
    button.append(element("kbd", { textContent: number + 1 }), words);
    button.setAttribute("aria-pressed", value === chosen);
    button.addEventListener("click", async () => {
      if (busy) return;
      busy = true;
      await choose(value);
      busy = false;
    });
    return button;
  });
  press = (digit) => buttons[digit - 1]?.click();
  return element(
    "fieldset",
    {},
    element("legend", { dir: "auto" }, visible(question)),
    element("div", { className: "choices" }, ...buttons),
  );
}

// --- one of several labels

function askLabel(item, { corrected }) {
  const given = answerOf(item);
  const asked = choices(item.question, item.labels, given?.label, async (value) => {
    if (!(await save(item, value === given?.label ? given : { label: value }))) return;
    if (value === corrected) show(here);
    else showNext();
  });
  $("answer").append(asked);
  if (corrected === null || given?.label !== corrected) return;
  $("answer").append(correction(item, given));
  $("correction").focus();
}

function correction(item, given) {
  const pieces = item.blocks.find((block) => block.role === "judged").pieces;
  const judged = withoutHidden(pieces.map(([text]) => text).join(""));
  const start = withoutHidden(given.correction ?? (item.suggestion || judged));
  const field = element("textarea", { id: "correction", dir: "auto", value: start });
  const store = async () => {
    const text = field.value.trim().replace(/\s+/g, " ");
    const answer = { label: given.label };
    if (text && text !== judged.trim()) answer.correction = text;
    return answer.correction === answerOf(item).correction || save(item, answer);
  };
  leave = async () => field.value === start || store(); // a suggestion is accepted by Enter only
  const finish = async () => (await store()) && showNext();
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      finish();
    }
    if (event.key === "Escape") $("number").focus();
  });
  const label = element("label", { htmlFor: "correction", textContent: "What would be right? Change only the error." });
  return element("div", { className: "write" }, label, field, goButton(finish));
}

function goButton(finish) {
  const button = element("button", { type: "button", className: "go", textContent: "Save and continue" });
  button.addEventListener("click", finish);
  return button;
}

// --- a number from 0 to 100

function numberField(name, value) {
  const field = element("input", { type: "number", min: 0, max: 100, step: 1, inputMode: "numeric" });
  field.setAttribute("aria-label", name);
  field.value = value ?? "";
  return field;
}

// The number typed; null for none, undefined for what is no score.
function numberIn(field) {
  if (field.value === "") return field.validity.badInput ? undefined : null;
  const number = Number(field.value);
  return Number.isInteger(number) && number >= 0 && number <= 100 ? number : undefined;
}

function askScore(item) {
  const given = answerOf(item)?.score;
  const field = numberField("Score from 0 to 100", given);
  const slider = element("input", { type: "range", min: 0, max: 100, step: 1, value: given ?? 50 });
  slider.setAttribute("aria-label", "Score from 0 to 100, as a slider");
  const store = async () => {
    const score = numberIn(field);
    if (score === undefined) showStatus("A score is a whole number from 0 to 100", true);
    if (score === null || score === undefined) return score === null;
    return score === answerOf(item)?.score || save(item, { score });
  };
  leave = store;
  const finish = async () => {
    field.readOnly = true; // what is typed from now on is not meant for this item
    if ((await store()) && numberIn(field) !== null) showNext();
    else field.readOnly = false;
  };
  slider.classList.toggle("unset", given === undefined);
  slider.addEventListener("input", () => {
    field.value = slider.value;
    slider.classList.remove("unset");
  });
  slider.addEventListener("change", store);
  field.addEventListener("input", () => {
    slider.value = numberIn(field) ?? 50;
    slider.classList.toggle("unset", typeof numberIn(field) !== "number");
  });
  field.addEventListener("change", store);
  for (const each of [field, slider]) each.addEventListener("keydown", (event) => event.key === "Enter" && finish());
  const scale = element("div", { className: "scale" });
  scale.append(element("span", { textContent: "0 nothing" }), element("span", { textContent: "100 perfect" }));
  $("answer").append(
    element(
      "fieldset",
      {},
      element("legend", { dir: "auto" }, visible(item.question)),
      element("div", { className: "score" }, field, element("div", {}, slider, scale), goButton(finish)),
    ),
  );
  field.focus();
}

// --- a number for each of a list, then one for the list

function askList(item) {
  const { translations, shuffled, labels, question } = item;
  const given = answerOf(item) ?? { scores: translations.map(() => null), overall: null };
  const fields = new Map(); // by the place in the system's order
  const rows = shuffled.map((place, number) => {
    const field = numberField(`Score of translation ${LETTERS[number]}, 0 to 100`, given.scores[place]);
    fields.set(place, field);
    const text = element("p", { dir: "auto" }, visible(translations[place]));
    if (!translations[place].trim()) text.replaceChildren(nothing());
    return element("li", {}, element("span", { className: "letter", textContent: LETTERS[number] }), text, field);
  });
  const scores = () => translations.map((_, place) => numberIn(fields.get(place)));
  const store = async () => {
    const now = scores();
    if (now.includes(undefined)) {
      showStatus("A score is a whole number from 0 to 100", true);
      return false;
    }
    showOverall();
    const before = answerOf(item);
    if (now.every((score, place) => score === (before?.scores[place] ?? null))) return true;
    return save(item, { scores: now, overall: before?.overall ?? null });
  };
  leave = store;
  const ordered = shuffled.map((place) => fields.get(place));
  ordered.forEach((field, number) => {
    field.addEventListener("change", store);
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || typeof numberIn(field) !== "number") return;
      event.preventDefault(); // or it would press the button that gets the focus
      store();
      const empty = [...ordered.slice(number + 1), ...ordered].find((each) => numberIn(each) === null);
      (empty ?? overall.querySelector(".choice") ?? field).focus();
    });
  });
  const overall = element("div", { className: "overall" });
  let shownFor = null;
  const showOverall = () => {
    const now = scores();
    if (shownFor === now.join()) return; // what is there may have the focus
    shownFor = now.join();
    if (now.includes(null) || now.includes(undefined)) return overall.replaceChildren();
    const list = element("ol", { className: "order" });
    translations.forEach((text, place) => {
      const letter = LETTERS[shuffled.indexOf(place)];
      const shown = text.trim() ? element("bdi", {}, visible(text)) : nothing();
      list.append(element("li", {}, element("b", { textContent: `${letter} (${now[place]}) ` }), shown));
    });
    const asked = choices(question, labels, String(answerOf(item)?.overall), async (value) => {
      if (await save(item, { scores: scores(), overall: Number(value) })) showNext();
    });
    asked.querySelector(".choices").classList.add("row");
    overall.replaceChildren(element("h3", { textContent: "The system's order, with your scores" }), list, asked);
  };
  const list = element("ul", { className: "hypotheses" }, ...rows);
  $("answer").append(
    element("fieldset", {}, element("legend", { textContent: "How good is each translation? 0 to 100" }), list),
    overall,
  );
  showOverall();
  (ordered.find((field) => field.value === "") ?? $("number")).focus();
}

// --- keys

function moveFocus(step) {
  const buttons = [...document.querySelectorAll(".choice")];
  if (!buttons.length) return;
  const now = buttons.indexOf(document.activeElement);
  const next = now < 0 ? (step > 0 ? 0 : buttons.length - 1) : now + step;
  buttons[Math.max(0, Math.min(next, buttons.length - 1))].focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !session) return;
  const { tagName, type } = event.target;
  if (tagName === "TEXTAREA" || type === "range") return; // they have their own use of every key
  const typing = type === "number";
  if (event.key === "ArrowLeft") move(-1);
  else if (event.key === "ArrowRight") move(1);
  else if (typing) return;
  else if (event.key === "ArrowDown") moveFocus(1);
  else if (event.key === "ArrowUp") moveFocus(-1);
  else if (/^[1-9]$/.test(event.key) && !event.repeat && !$("item").hidden) press(Number(event.key));
  else if (event.key === "?") $("guidelines").open = !$("guidelines").open;
  else return;
  event.preventDefault();
});
$("back").addEventListener("click", () => move(-1));
$("next").addEventListener("click", () => move(1));
$("again").addEventListener("click", () => show(0));

start();
