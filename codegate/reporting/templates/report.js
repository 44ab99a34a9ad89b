"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  const themes = ["auto", "light", "dark"];
  const button = document.getElementById("theme");
  const stored = () => {
    try {
      return localStorage.getItem("codegate-theme");
    } catch {
      return null;
    }
  };
  const setTheme = (theme) => {
    if (theme === "auto") {
      delete root.dataset.theme;
    } else {
      root.dataset.theme = theme;
    }
    button.textContent = "Theme: " + theme;
    try {
      localStorage.setItem("codegate-theme", theme);
    } catch {
      // a page opened from a file may not have storage; the choice then lasts as long as the page
    }
  };
  let theme = themes.includes(stored()) ? stored() : "auto";
  setTheme(theme);
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    setTheme(theme);
  });

  const rows = Array.from(document.querySelectorAll("[data-row]"));
  const search = document.getElementById("search");
  const filters = Array.from(document.querySelectorAll("button.filter"));
  const shown = document.getElementById("shown");
  let filter = "all";
  const apply = () => {
    const name = search.value.trim().toLowerCase();
    let visible = 0;
    let total = 0;
    for (const row of rows) {
      const matches =
        row.dataset.name.includes(name) && (filter === "all" || row.dataset.tags.split(" ").includes(filter));
      row.hidden = !matches;
      if (row.tagName === "TR") {
        total += 1;
        visible += matches ? 1 : 0;
      }
    }
    shown.textContent = visible === total ? total + " problems" : visible + " of " + total + " problems";
  };
  search.addEventListener("input", apply);
  for (const choice of filters) {
    choice.addEventListener("click", () => {
      filter = choice.dataset.filter;
      for (const other of filters) {
        other.setAttribute("aria-pressed", String(other === choice));
      }
      apply();
    });
  }
  apply();

  const attempts = () => document.querySelectorAll(".problem:not([hidden]) details.attempt");
  document.getElementById("open-all").addEventListener("click", () => {
    for (const attempt of attempts()) {
      attempt.open = true;
    }
  });
  document.getElementById("close-all").addEventListener("click", () => {
    for (const attempt of document.querySelectorAll("details.attempt")) {
      attempt.open = false;
    }
  });

  const reveal = () => {
    const target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    if (!target) {
      return;
    }
    const article = target.closest(".problem");
    if (article) {
      article.hidden = false;
    }
    if (target.tagName === "DETAILS") {
      target.open = true;
      target.querySelector("summary").focus({ preventScroll: true });
    }
    target.scrollIntoView({ block: "start" });
  };
  window.addEventListener("hashchange", reveal);
  reveal();
})();
