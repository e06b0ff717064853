// Test cases that are pictures, with what the model took them for.
"use strict";

/** A sentence for those who do not see the marks. share: what the model gives its answer. */
function answerText({ truth, predicted, share }, isRight) {
  return isRight ? `right: ${truth}, ${percent(share)}` : `wrong: ${truth} taken for ${predicted}, ${percent(share)}`;
}

function pictureCanvas(picture) {
  const { width, height } = picture;
  const canvas = element("canvas", { class: "picture", width, height, role: "img", "aria-label": answerText(picture, picture.right) });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const grey = atob(picture.grey);
  for (let i = 0; i < grey.length; ++i) image.data.set([...Array(3).fill(grey.charCodeAt(i)), 255], 4 * i);
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The truth, and below it the answer: right and wrong ones differ in their sign, not only in their colour. */
function pictureFigure(picture) {
  const { right, truth, predicted, share } = picture;
  return element("figure", { class: right ? "case right" : "case wrong" }, pictureCanvas(picture),
    element("figcaption", {}, element("b", { title: truth }, truth),
      element("span", { class: "answer", title: predicted }, right ? "✓ " : `✗ ${predicted}`), element("small", {}, percent(share))));
}

function pictureCard(pictures, title, explanation) {
  if (pictures.length === 0) return null;
  return element("div", { class: "card" }, element("h3", {}, title), element("p", { class: "explain" }, explanation),
    element("div", { class: "gallery" }, pictures.map(pictureFigure)));
}

function picturesSection(run) {
  const pictures = run.result?.test.pictures ?? [];
  if (pictures.length === 0) return null;
  return section("pictures", "Pictures", "Some test cases: what each is, and what the model answers, with the share that it gives its answer.",
    pictureCard(pictures.filter(({ right }) => !right), "Wrong answers", "Those that the model is surest of."),
    pictureCard(pictures.filter(({ right }) => right), "Right answers", "Drawn evenly from all of them."));
}
