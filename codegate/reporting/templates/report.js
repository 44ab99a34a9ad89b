"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));

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

  // The address is #ANCHOR&q=TEXT&show=FILTER: a file has no query that a script may change.
  const rows = all("[data-row]");
  const search = document.getElementById("search");
  const filters = all("button.filter");
  const shown = document.getElementById("shown");
  let filter = "all";
  const anchor = () => location.hash.slice(1).split("&")[0];
  const address = (place) => {
    const state = new URLSearchParams();
    if (search.value.trim()) {
      state.set("q", search.value.trim());
    }
    if (filter !== "all") {
      state.set("show", filter);
    }
    const text = state.toString();
    return "#" + place + (text ? "&" + text : "");
  };
  const remember = (place) => {
    if (address(place) !== (location.hash || "#")) {
      history.replaceState(null, "", address(place));
    }
  };
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
    for (const choice of filters) {
      choice.setAttribute("aria-pressed", String(choice.dataset.filter === filter));
    }
    const all = total + (total === 1 ? " problem" : " problems");
    shown.textContent = visible === total ? all : visible + " of " + all;
  };
  search.addEventListener("input", () => {
    apply();
    remember(anchor());
  });
  for (const choice of filters) {
    choice.addEventListener("click", () => {
      filter = choice.dataset.filter;
      apply();
      remember(anchor());
    });
  }

  const value = (cell) => {
    const text = cell ? cell.textContent.trim() : "";
    const number = /^[^A-Za-z\d]*[+-]?[\d.,]+/.exec(text);
    return [text === "" || text === "—", number ? parseFloat(number[0].replace(/[^\d.-]/g, "")) : NaN, text];
  };
  const order = (left, right, sign) => {
    if (left[0] !== right[0]) {
      return left[0] ? 1 : -1; // the unknown is last either way
    }
    const numbers = !Number.isNaN(left[1]) && !Number.isNaN(right[1]);
    return sign * (numbers ? left[1] - right[1] : left[2].localeCompare(right[2], "en", { numeric: true }));
  };
  for (const table of all(".scroll table")) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const sort = document.createElement("button");
      sort.type = "button";
      sort.className = "sort";
      sort.textContent = head.textContent;
      head.replaceChildren(sort);
      sort.addEventListener("click", () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
        const keyed = Array.from(table.tBodies[0].rows, (row) => [value(row.cells[column]), row]);
        keyed.sort((left, right) => order(left[0], right[0], sign));
        table.tBodies[0].append(...keyed.map((entry) => entry[1]));
      });
    });
  }

  // A large page holds the attempts of each problem compressed. What the parser makes of them runs no script.
  const unpacking = new Map();
  const unpack = (article) => {
    if (!unpacking.has(article)) {
      unpacking.set(article, unpackOnce(article));
    }
    return unpacking.get(article);
  };
  const unpackOnce = async (article) => {
    const packed = article.querySelector("template.packed");
    if (!packed) {
      return;
    }
    const bytes = Uint8Array.from(atob(packed.content.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const parsed = new DOMParser().parseFromString(await new Response(stream).text(), "text/html");
    for (const body of all("[data-of]", parsed)) {
      article.querySelector("#" + body.dataset.of + " > .body").append(...body.childNodes);
    }
    packed.remove();
  };

  // The reference fix is in the page once, and stands beside each patch that is looked at.
  document.addEventListener(
    "toggle",
    async (event) => {
      if (!event.target.matches("details.attempt[open]")) {
        return;
      }
      await unpack(event.target.closest(".problem"));
      const place = event.target.querySelector(".patches");
      const fix = place && place.children.length === 1 && event.target.closest(".problem").querySelector(".fix");
      if (fix) {
        const copy = document.createElement("div");
        const title = document.createElement("h4");
        title.textContent = "Reference fix";
        copy.append(title, fix.firstElementChild.cloneNode(true));
        place.append(copy);
      }
    },
    true,
  );

  const attempts = () => all(".problem:not([hidden]) details.attempt");
  document.getElementById("open-all").addEventListener("click", () => {
    for (const attempt of attempts()) {
      attempt.open = true;
    }
  });
  document.getElementById("close-all").addEventListener("click", () => {
    for (const attempt of all("details.attempt")) {
      attempt.open = false;
    }
  });
  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("button.copy");
    if (!copy) {
      return;
    }
    remember(copy.dataset.copy);
    try {
      await navigator.clipboard.writeText(location.href);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "The link is in the address bar";
    }
  });

  const show = (place) => {
    const target = place ? document.getElementById(place) : null;
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
  document.addEventListener("keydown", (event) => {
    const step = { j: 1, k: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) {
      return;
    }
    const list = attempts();
    const current = list.findIndex((attempt) => attempt.contains(document.activeElement));
    const next = list[current < 0 ? 0 : current + step];
    if (next) {
      if (current >= 0) {
        list[current].open = false;
      }
      show(next.id);
      remember(next.id);
    }
  });
  const read = () => {
    const state = new URLSearchParams(location.hash.split("&").slice(1).join("&"));
    const known = filters.map((choice) => choice.dataset.filter);
    if (state.size || !anchor()) {
      search.value = state.get("q") || "";
      filter = known.includes(state.get("show")) ? state.get("show") : "all";
    }
    apply();
    show(anchor());
    remember(anchor());
  };
  window.addEventListener("hashchange", read);
  read();
})();
