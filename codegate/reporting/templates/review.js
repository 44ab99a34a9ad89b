"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  const problems = Array.from(document.querySelectorAll("article.problem"));
  const boxes = Array.from(document.querySelectorAll("input.drop"));
  const count = document.getElementById("count");
  const command = document.getElementById("command");
  const copy = document.getElementById("copy");

  const key = "codegate-review-" + root.dataset.key;
  const wasDropped = (box) => "dropped" in box.dataset;
  const changed = () => boxes.filter((box) => box.checked !== wasDropped(box));
  try {
    const remembered = new Set(JSON.parse(localStorage.getItem(key) || "[]"));
    for (const box of boxes) {
      box.checked = wasDropped(box) !== remembered.has(box.dataset.id);
    }
  } catch {
    // a page opened from a file may not have storage; decisions then last as long as the page
  }

  const show = () => {
    const options = changed().map((box) => (box.checked ? " --drop " : " --keep ") + box.dataset.id);
    const dropped = boxes.filter((box) => box.checked).length;
    count.textContent = boxes.length - dropped + " kept, " + dropped + " dropped";
    command.textContent = options.length ? root.dataset.command + options.join("") : "nothing to write";
    copy.disabled = options.length === 0;
    copy.textContent = "Copy";
    for (const box of boxes) {
      box.closest("article").classList.toggle("is-drop", box.checked);
    }
  };
  const remember = () => {
    show();
    try {
      localStorage.setItem(key, JSON.stringify(changed().map((box) => box.dataset.id)));
    } catch {
      // as above
    }
  };
  for (const box of boxes) {
    box.addEventListener("change", remember);
  }
  show();

  copy.addEventListener("click", async () => {
    getSelection().selectAllChildren(command);
    try {
      await navigator.clipboard.writeText(command.textContent);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Selected";
    }
  });

  let current = null;
  const select = (problem) => {
    if (current) {
      current.classList.remove("current");
    }
    current = problem;
    current.classList.add("current");
  };
  // The selected problem, or the first one in view where the reader has scrolled away from it.
  const selected = () => {
    const inView = (problem) => {
      const place = problem.getBoundingClientRect();
      return place.bottom > innerHeight / 4 && place.top < innerHeight * 0.75;
    };
    if (!current || !inView(current)) {
      select(problems.find(inView) || current || problems[0]);
    }
    return current;
  };
  const move = (step) => {
    const place = problems.indexOf(selected()) + step;
    if (place >= 0 && place < problems.length) {
      select(problems[place]);
      current.focus({ preventScroll: true });
      current.scrollIntoView({ block: "start" });
    }
  };
  for (const problem of problems) {
    problem.addEventListener("focusin", () => select(problem));
    problem.addEventListener("click", () => select(problem));
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !problems.length) {
      return;
    }
    if (event.key === "j") {
      move(1);
    } else if (event.key === "k") {
      move(-1);
    } else if (event.key === "c") {
      copy.click();
    } else if (event.key === "d") {
      const box = selected().querySelector("input.drop");
      if (box) {
        box.click();
      }
    }
  });
  if (problems.length) {
    select(problems[0]);
  }
})();
