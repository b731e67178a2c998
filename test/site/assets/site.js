"use strict";
// What a page can do beyond being read: search, change between light and dark, copy a block of code.

const root = document.documentElement.dataset.root;
const $ = (selector) => document.querySelector(selector);

function make(name, text, attributes = {}) {
  const node = document.createElement(name);
  node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

// Light and dark.

const theme = $(".theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const set = document.documentElement.dataset;
  const dark = set.theme ? set.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  set.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", set.theme); } catch { /* storage is off: it counts for this page */ }
});

// Copying. Of a session only the commands are copied, with the lines that go on with one.

function commands(text) {
  const out = [];
  let goesOn = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("$ ")) out.push(line.slice(2));
    else if (goesOn) out.push(line);
    goesOn = (goesOn || line.startsWith("$ ")) && line.endsWith("\\");
  }
  return out.length > 0 ? out.join("\n") + "\n" : text;
}

if (navigator.clipboard) {
  for (const figure of document.querySelectorAll("figure.code")) {
    const button = make("button", "Copy", { class: "copy", type: "button" });
    button.addEventListener("click", async () => {
      const text = figure.querySelector("code").textContent;
      try {
        await navigator.clipboard.writeText(figure.dataset.language === "console" ? commands(text) : text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    figure.append(button);
  }
}

// Search.

const dialog = $("dialog.search");
const input = dialog.querySelector("input");
const list = dialog.querySelector("#results");
const said = dialog.querySelector(".said");
const opener = $(".search-open");
const most = 20;       // results that are shown
const mostOfPage = 4;  // of them of one page
let index;             // a promise of what there is to find
let at = -1;           // the result that Enter opens

async function load() {
  const answer = await fetch(root + "search.json");
  if (!answer.ok) throw new Error(answer.statusText);
  const { pages, parts } = await answer.json();
  return parts.map((part) => {
    const page = pages[part.page];
    return {
      page, part, title: page.title.toLowerCase(), heading: (part.heading || "").toLowerCase(),
      text: part.text.toLowerCase(), summary: part.heading ? "" : page.summary.toLowerCase(),
    };
  });
}

// worth says how well a text answers to a word: as a whole word, at the beginning of one, inside of one, or not at all.
function worth(text, word) {
  let best = 0;
  for (let from = text.indexOf(word); from >= 0; from = text.indexOf(word, from + 1)) {
    const begins = from === 0 || !/[\p{L}\p{N}]/u.test(text[from - 1]);
    const end = from + word.length;
    const ends = end === text.length || !/[\p{L}\p{N}]/u.test(text[end]);
    best = Math.max(best, begins && ends ? 4 : begins ? 3 : 1);
    if (best === 4) break;
  }
  return best;
}

// score is 0 unless every word is in the part, its heading, or the title of its page.
function score(entry, words) {
  let sum = 0;
  for (const word of words) {
    const one = (entry.part.heading ? 4 : 12) * worth(entry.title, word) + 8 * worth(entry.heading, word) + 6 * worth(entry.summary, word) + worth(entry.text, word);
    if (one === 0) return 0;
    sum += one;
  }
  const whole = words.join(" ");
  if (entry.heading === whole || !entry.part.heading && entry.title === whole) sum += 100;
  if (entry.title.includes(whole) || entry.heading.includes(whole)) sum += 20;
  return sum;
}

function find(entries, words) {
  const scored = entries.map((entry) => [score(entry, words), entry]).filter(([value]) => value > 0);
  scored.sort((a, b) => b[0] - a[0]); // stable: those of equal worth stay in the order of the pages
  const ofPage = new Map();
  const out = [];
  for (const [, entry] of scored) {
    const count = ofPage.get(entry.page) || 0;
    if (count === mostOfPage) continue;
    ofPage.set(entry.page, count + 1);
    out.push(entry);
    if (out.length === most) break;
  }
  return { shown: out, count: scored.length };
}

// marked is a text with its found words marked.
function marked(node, text, words) {
  const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "gi");
  let done = 0;
  for (const match of text.matchAll(pattern)) {
    node.append(text.slice(done, match.index), make("mark", match[0]));
    done = match.index + match[0].length;
  }
  node.append(text.slice(done));
}

// excerpt is the text around the first word that it has.
function excerpt(entry, words) {
  const places = words.map((word) => entry.text.indexOf(word)).filter((place) => place >= 0);
  const text = entry.part.text;
  let from = Math.max(0, Math.min(...places, text.length) - 60);
  if (places.length === 0) from = 0;
  if (from > 0) from = text.indexOf(" ", from) + 1;
  const cut = text.slice(from, from + 160);
  return (from > 0 ? "… " : "") + cut + (from + 160 < text.length ? " …" : "");
}

function show({ shown, count }, words) {
  list.replaceChildren(...shown.map((entry, number) => {
    const item = make("li", "", { role: "option", id: `result${number}`, "aria-selected": "false" });
    const link = make("a", "", { href: root + entry.page.path + (entry.part.id ? "#" + entry.part.id : ""), tabindex: "-1" });
    const title = make("strong", "");
    marked(title, entry.part.heading || entry.page.title, words);
    const where = make("small", entry.part.heading ? `${entry.page.section} · ${entry.page.title}` : entry.page.section);
    const text = make("span", "");
    marked(text, excerpt(entry, words), words);
    link.append(title, where, text);
    item.append(link);
    return item;
  }));
  said.textContent = count === 0 ? "Nothing has all of these words." : count > shown.length ? `${count} places; the first ${shown.length} are shown.` : count === 1 ? "1 place." : `${count} places.`;
  input.setAttribute("aria-expanded", String(shown.length > 0));
  choose(shown.length > 0 ? 0 : -1);
}

function choose(number) {
  list.children[at]?.setAttribute("aria-selected", "false");
  at = number;
  const item = list.children[at];
  if (!item) {
    input.removeAttribute("aria-activedescendant");
    return;
  }
  item.setAttribute("aria-selected", "true");
  input.setAttribute("aria-activedescendant", item.id);
  item.scrollIntoView({ block: "nearest" });
}

async function search() {
  const asked = input.value;
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  let entries;
  try {
    index ??= load();
    entries = await index;
  } catch {
    index = undefined; // the next word tries again
    said.textContent = "What the search reads could not be loaded. Is the site opened from a file? `make site-serve` serves it.";
    return;
  }
  if (asked !== input.value) return; // something else was typed meanwhile
  if (words.length === 0) {
    list.replaceChildren();
    said.textContent = "";
    input.setAttribute("aria-expanded", "false");
    choose(-1);
    return;
  }
  show(find(entries, words), words);
}

function open() {
  dialog.showModal();
  input.select();
  search();
}

opener.hidden = false;
opener.addEventListener("click", open);
input.addEventListener("input", search);
dialog.addEventListener("click", (event) => {
  if (event.target === dialog || event.target.closest("a")) dialog.close(); // beside it, or a result: which may be on this page
});
input.addEventListener("keydown", (event) => {
  const last = list.children.length - 1;
  if (event.key === "ArrowDown") choose(at < last ? at + 1 : 0);
  else if (event.key === "ArrowUp") choose(at > 0 ? at - 1 : last);
  else if (event.key === "Enter") list.children[at]?.querySelector("a").click();
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  open();
});

// The page that is shown is in sight in the list of pages.
const nav = $("#nav");
const here = nav.querySelector("[aria-current]");
function reveal() { if (here) nav.scrollTop = here.offsetTop - nav.clientHeight / 3; }
reveal();
nav.addEventListener("toggle", reveal);
