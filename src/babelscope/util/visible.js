"use strict";
// Text whose characters that would steer or hide it (util/characters.py) are shown by their numbers.

const HIDDEN = /([\u{0}-\u{8}\u{b}-\u{1f}\u{7f}-\u{9f}\u{34f}-\u{34f}\u{61c}-\u{61c}\u{115f}-\u{1160}\u{17b4}-\u{17b5}\u{200e}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{3164}-\u{3164}\u{d800}-\u{dfff}\u{feff}-\u{feff}\u{ffa0}-\u{ffa0}\u{fff0}-\u{fffb}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]+)/u;

// Pieces of the text: what can be shown, and runs of hidden characters, in turn.
const piecesOf = (text) => String(text).split(HIDDEN);

function placeholder(run) {
  const name = (each) => `⟦U+${each.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`;
  const all = [...run];
  const more = all.length > 4 ? `⟦${(all.length - 4).toLocaleString("en")} more⟧` : "";
  return all.slice(0, 4).map(name).join("") + more;
}

// As plain text, and as nodes, where what stands for hidden characters has a style.
const visibleText = (text) => piecesOf(text).map((piece, place) => (place % 2 ? placeholder(piece) : piece)).join("");
function visible(text) {
  const made = document.createDocumentFragment();
  const pieces = piecesOf(text);
  if (pieces.length > 2000) {
    made.append(visibleText(text)); // a browser takes minutes to lay out very many elements in a line
    return made;
  }
  pieces.forEach((piece, place) => {
    if (place % 2 === 0) {
      if (piece) made.append(piece);
      return;
    }
    const box = document.createElement("bdi");
    box.className = "steering";
    box.textContent = placeholder(piece);
    made.append(box);
  });
  return made;
}

// Where text is edited nothing can stand for them.
const withoutHidden = (text) => piecesOf(text).filter((_, place) => place % 2 === 0).join("");
