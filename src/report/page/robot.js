// A robot from the side, moving: capsules as lines with round ends, a camera that goes along, controls as of a film.
// An animation is {title, target, earned, score, steps, frameSeconds, frameSteps, radii, frames}, a frame x1, z1, x2, z2 of
// every capsule in metres.
"use strict";

const cm = 100; // text in a drawing needs sizes above 1, so its unit is the centimetre
const groundDepth = 0.24; // metres below the ground that are seen, for the marks
const longestHold = 1; // seconds that the last frame stays before it all begins again

function svgNode(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const torsoX = (frame) => (frame[0] + frame[2]) / 2;

/** What the camera sees, in metres; the same for all of them, so that they can be compared. */
function viewOf(animations) {
  const heights = animations.flatMap(({ frames, radii }) => frames.flatMap((frame) => radii.map((radius, i) => radius + Math.max(frame[4 * i + 1], frame[4 * i + 3]))));
  const top = Math.min(3, Math.max(1, heights.reduce((a, b) => Math.max(a, b), 0)) + 0.15);
  return { top, width: 1.9 * (top + groundDepth) };
}

/** MuJoCo's runners have their trunk first and then legs of three capsules each: "trunk", "leg-1", "leg-2". */
function limbOf(i, count) {
  const trunk = count % 3;
  return i < trunk ? "trunk" : `leg-${1 + (Math.floor((i - trunk) / 3) % 2)}`;
}

/** The ground with a mark every metre; drawn once, the camera passes by. */
function groundNodes(animation, { width }) {
  const places = animation.frames.map(torsoX);
  const from = Math.floor(places.reduce((a, b) => Math.min(a, b)) - width), to = Math.ceil(places.reduce((a, b) => Math.max(a, b)) + width);
  const metres = Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const marks = metres.map((x) => svgNode("path", { class: x === 0 ? "mark start" : "mark", d: `M${cm * x} 0v${x % 5 ? 5 : 8}` }));
  const labels = metres.map((x) => svgNode("text", { x: cm * x, y: 19, "font-size": (2.9 * width).toFixed(1) }, `${x} m`));
  return [svgNode("rect", { class: "ground", x: cm * from, y: 0, width: cm * (to - from), height: cm * groundDepth }), ...marks, ...labels];
}

/** The drawing, and a function that shows a frame in it. */
function robotScene(animation, view, label) {
  const lines = animation.radii.map((radius, i) => svgNode("line", { class: limbOf(i, animation.radii.length), "stroke-width": 2 * cm * radius }));
  const svg = svgNode("svg", { role: "img", "aria-label": label }, ...groundNodes(animation, view), ...lines);
  const show = (index) => {
    const frame = animation.frames[index];
    const box = [torsoX(frame) - view.width / 2, -view.top, view.width, view.top + groundDepth];
    svg.setAttribute("viewBox", box.map((length) => (cm * length).toFixed(1)).join(" "));
    lines.forEach((line, i) => ["x1", "y1", "x2", "y2"].forEach((name, j) => line.setAttribute(name, (j % 2 ? -cm : cm) * frame[4 * i + j])));
  };
  return { svg, show };
}

/** "step 312 · 2.5 s · 4.2 m" */
function clockText({ frames, frameSeconds, frameSteps }, index) {
  const way = torsoX(frames[index]) - torsoX(frames[0]);
  return [frameSteps ? `step ${whole(index * frameSteps)}` : null, `${oneDigit(index * frameSeconds)} s`, `${oneDigit(way)} m`].filter(Boolean).join(" · ");
}

/** Runs `advance(seconds since the last call)` while it is on and the node can be seen. */
function whileVisible(node, advance) {
  let isOn = false, isSeen = false, before = null;
  const tick = (now) => {
    if (!isOn || !isSeen) return void (before = null);
    advance(before === null ? 0 : Math.min(0.25, (now - before) / 1000)); // a tab that slept does not jump
    before = now;
    requestAnimationFrame(tick);
  };
  const wake = (change) => {
    const wasRunning = isOn && isSeen;
    change();
    if (!wasRunning && isOn && isSeen && before === null) requestAnimationFrame(tick);
  };
  new IntersectionObserver((entries) => wake(() => { isSeen = entries.at(-1).isIntersecting; })).observe(node);
  return (on) => wake(() => { isOn = on; });
}

function robotPlayer(animation, view, label) {
  const { svg, show } = robotScene(animation, view, label);
  const last = animation.frames.length - 1, { frameSeconds } = animation;
  const button = element("button", { type: "button" });
  const slider = element("input", { type: "range", min: 0, max: last, step: 1, value: 0, "aria-label": `${capital(animation.title)}: moment of the episode` });
  const clock = element("p", { class: "clock" });
  let seconds = 0, speed = 1, isPlaying = false;
  const goTo = (index) => {
    slider.value = index;
    clock.textContent = clockText(animation, index);
    slider.setAttribute("aria-valuetext", clock.textContent);
    show(index);
  };
  const run = whileVisible(svg, (passed) => {
    seconds = (seconds + speed * passed) % ((last + 1) * frameSeconds + longestHold * speed);
    goTo(Math.min(last, Math.floor(seconds / frameSeconds)));
  });
  const setPlaying = (playing) => {
    isPlaying = playing;
    button.textContent = playing ? "Pause" : "Play";
    run(playing);
  };
  button.addEventListener("click", () => setPlaying(!isPlaying));
  slider.addEventListener("input", () => {
    setPlaying(false);
    seconds = Number(slider.value) * frameSeconds;
    goTo(Number(slider.value));
  });
  goTo(0);
  setPlaying(last > 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches);
  const speeds = [[1, "1×"], [0.25, "¼×"]].map(([value, name]) => ({ value, label: name }));
  return [svg, element("div", { class: "controls" }, button, slider, switcher(`Speed of ${animation.title}`, speeds, speed, (value) => { speed = value; })), clock];
}
