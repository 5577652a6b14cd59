// What the workbench does beyond links and forms: marks refused fields, folds details, opens the sheet.
(function () {
  "use strict";

  // Only messages are swapped while somebody types, never a field: its mark follows its message.
  function markFields() {
    document.querySelectorAll("#workload [aria-describedby]").forEach(function (control) {
      const refused = control.getAttribute("aria-describedby").split(" ").some(function (id) {
        const list = id.startsWith("err-") && document.getElementById(id);
        return list && list.childElementCount > 0;
      });
      if (refused) { control.setAttribute("aria-invalid", "true"); } else { control.removeAttribute("aria-invalid"); }
    });
  }
  document.addEventListener("htmx:afterSettle", markFields);
  document.addEventListener("htmx:oobAfterSwap", markFields);

  document.addEventListener("submit", function (event) {
    const form = event.target;
    if (form.id !== "workload" || !window.htmx) { return; }
    if (event.submitter && (event.submitter.name === "paste" || event.submitter.name === "switch")) { return; }
    const pasted = form.elements.config_text;
    if (pasted && pasted.value.trim()) { return; }
    const chosen = form.elements.config_file;
    if (chosen && chosen.files.length) { return; }
    event.preventDefault();
    window.htmx.trigger("#refiner", "refine");
    closeSheet();
  });

  // A chosen file is read at once. It is no change of the workload yet, so nothing else hears of it.
  function fileChosen(event) {
    const control = event.target;
    if (control.id !== "f-config_file") { return; }
    event.stopPropagation();
    if (event.type !== "change" || !control.files.length) { return; }
    const message = document.getElementById("err-config_text");
    if (control.files[0].size > Number(control.dataset.bytesMaximum)) {
      const item = document.createElement("li");
      item.textContent = control.dataset.tooLarge;
      message.replaceChildren(item);
      control.setAttribute("aria-invalid", "true");
      control.value = "";
      return;
    }
    control.form.requestSubmit(control.form.querySelector("button[name=paste]"));
  }
  document.addEventListener("input", fileChosen, true);
  document.addEventListener("change", fileChosen, true);

  // Another kind of work has other fields: the form is asked for again, and what both kinds know goes along.
  document.addEventListener("change", function (event) {
    const button = event.target.id === "f-kind" && document.querySelector("[data-switch]");
    if (!button) { return; }
    event.stopPropagation();
    event.target.form.requestSubmit(button);
  }, true);
  document.addEventListener("input", function (event) {
    if (event.target.id === "f-kind") { event.stopPropagation(); }
  }, true);

  // Leaving a field tells of a change that was asked for already: the same question is not asked twice.
  function question() {
    const form = document.getElementById("workload");
    if (!form) { return ""; }
    const data = new FormData(form);
    ["csrfmiddlewaretoken", "config_text", "config_file"].forEach(function (name) { data.delete(name); });
    return new URLSearchParams(data).toString();
  }
  let asked = null;
  document.addEventListener("DOMContentLoaded", function () { asked = question(); });
  document.addEventListener("htmx:beforeRequest", function (event) {
    if (event.detail.elt.id !== "refiner") { return; }
    const now = question();
    if (now === asked) { event.preventDefault(); return; }
    asked = now;
  });
  document.addEventListener("htmx:sendError", function () { asked = null; });
  document.addEventListener("htmx:responseError", function () { asked = null; });

  // A row's link opens its detail in place; a second click folds it again without asking the server.
  document.addEventListener("htmx:configRequest", function (event) {
    const link = event.detail.elt.closest("[data-detail]");
    if (!link) { return; }
    const row = document.getElementById(link.dataset.detail).closest("tr");
    if (!row.hidden || (row.firstElementChild.childElementCount > 0)) {
      event.preventDefault();
      row.hidden = !row.hidden;
      link.setAttribute("aria-expanded", String(!row.hidden));
    }
  });
  document.addEventListener("htmx:afterSwap", function (event) {
    const cell = event.detail.target;
    const row = cell && cell.closest && cell.closest("tr.detail");
    if (!row) { return; }
    row.hidden = false;
    const link = document.querySelector('[data-detail="' + cell.id + '"]');
    if (link) { link.setAttribute("aria-expanded", "true"); }
  });

  // What the last change did to the first candidate: what was asked and the figures of the strip, before and after.
  let before = null;
  let now = null;
  let asking = new Map();
  let askedAt = 0;

  function figures() {
    const strip = document.getElementById("strip");
    if (!strip) { return null; }
    return { query: strip.dataset.query, told: JSON.parse(strip.dataset.figures) };
  }
  function written(figure, value) {
    const size = Math.abs(value);
    const digits = figure.money ? (figure.unit === "JPY" ? 0 : 2) : size >= 100 ? 0 : size >= 10 ? 1 : 2;
    return size.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
  // A total in which a line is unknown is at least that much.
  function atLeast(figure) { return (figure.least ? "\u2265 " : "") + written(figure, figure.value); }
  // Old and new, and the difference between them: "45.1 → 59.2 GiB (+14.1)".
  function shown(figure, was) {
    const change = figure.value - was.value;
    const sign = change > 0 ? "+" : "\u2212";
    const amounts = atLeast(was) + " \u2192 " + atLeast(figure) + " " + figure.unit;
    // Of two totals that are not known alike there is no difference.
    if (Boolean(was.least) !== Boolean(figure.least)) { return amounts; }
    return amounts + " (" + sign + written(figure, change) + ")";
  }
  function labelOf(control) {
    const isOneOfSeveral = control.type === "radio" || control.type === "checkbox";
    const group = isOneOfSeveral && control.closest("fieldset");
    const label = group ? group.querySelector("legend") : control.labels && control.labels[0];
    return label ? label.textContent.trim() : control.name;
  }
  function valueOf(control) {
    if (control.tagName === "SELECT") { return control.selectedOptions[0] ? control.selectedOptions[0].text : ""; }
    if (control.type === "radio" || control.type === "checkbox") {
      return control.checked ? control.closest("label") ? control.closest("label").textContent.trim() : labelOf(control) : "";
    }
    return control.value.trim();
  }
  // Every field of the form as it reads, by its name: boxes of one name together.
  function fields() {
    const form = document.getElementById("workload");
    const found = new Map();
    if (!form) { return found; }
    for (const control of form.elements) {
      if (!control.name || !control.closest("#workload") || /^(hidden|file|submit|button)$/.test(control.type) || control.name === "config_text") { continue; }
      const was = found.get(control.name);
      const value = valueOf(control);
      found.set(control.name, {
        label: was ? was.label : labelOf(control),
        value: was ? [was.value, value].filter(Boolean).join(", ") : value,
      });
    }
    return found;
  }
  function changes(place) {
    const told = [];
    for (const [name, field] of now.fields) {
      const was = before.fields.get(name);
      if (!was || was.value === field.value) { continue; }
      told.push(field.label + ": " + (was.value || place.dataset.empty) + " \u2192 " + (field.value || place.dataset.empty));
    }
    return told;
  }
  function showChange() {
    const place = document.getElementById("changed");
    if (!place || !before || !now) { return; }
    const causes = changes(place);
    if (!causes.length) { return; }
    const parts = [];
    for (const figure of now.told) {
      const was = before.told.find(function (one) { return one.key === figure.key && one.unit === figure.unit; });
      if (!was || Math.abs(figure.value - was.value) < 0.005) { continue; }
      parts.push([figure.label, shown(figure, was)]);
    }
    place.replaceChildren();
    for (const cause of causes) {
      const lead = document.createElement("b");
      lead.textContent = cause;
      place.append(lead);
    }
    for (const part of parts) {
      const item = document.createElement("span");
      item.textContent = part[0] + " " + part[1];
      place.append(item);
    }
    if (!parts.length) { place.append(place.dataset.same); }
    place.hidden = false;
  }
  document.addEventListener("input", function (event) {
    const control = event.target;
    if (!control.form || control.form.id !== "workload") { return; }
    if (control.name === "model" && control.value.trim()) {  // A name that is typed takes the pasted model's place.
      control.form.elements.config.value = "";
      const notice = document.getElementById("pasted");
      if (notice) { notice.remove(); }
    }
  });
  // Leaving a field asks once more for the same workload: that is no change, so the figures before the last
  // change of the workload are kept. So they are while one change follows another faster than one reads.
  const readingMs = 1000;
  function noteFigures() {
    const found = figures();
    if (!found || (now && now.query === found.query)) { return; }
    if (now && (!before || askedAt - now.at > readingMs)) { before = now; }
    now = Object.assign(found, { fields: asking, at: Date.now() });
  }
  document.addEventListener("DOMContentLoaded", function () {
    asking = fields();
    noteFigures();
  });
  document.addEventListener("htmx:beforeRequest", function (event) {
    if (event.detail.elt.id === "refiner") {
      asking = fields();
      askedAt = Date.now();
    }
  });
  document.addEventListener("htmx:afterSwap", function (event) {
    if (event.detail.target && event.detail.target.id === "answer" && event.detail.requestConfig.elt.id === "refiner") {
      noteFigures();
      showChange();
      const headline = document.querySelector("#answer h1");
      const announced = document.getElementById("announced");
      if (headline && announced) { announced.textContent = headline.textContent; }
    }
  });

  // A table that is as wide as its place needs no bar of its own, so its heads can stay in view; beneath the strip
  // of figures while that does.
  // Measured after the browser has laid the page out, so that nothing is laid out twice.
  const watched = new ResizeObserver(function (entries) {
    for (const entry of entries) {
      const place = entry.target;
      if (place.id === "strip") {
        const answer = document.getElementById("answer");
        if (answer) { answer.style.setProperty("--strip", place.offsetHeight + "px"); }
      } else {
        place.classList.toggle("whole", place.scrollWidth <= place.clientWidth + 1);
      }
    }
  });
  function watch() {
    watched.disconnect();
    document.querySelectorAll("[data-fits], #strip").forEach(function (place) { watched.observe(place); });
  }
  document.addEventListener("DOMContentLoaded", watch);
  document.addEventListener("htmx:afterSettle", watch);

  // While a field is changed the strip stays in view; scrolled out of its place it keeps its figures alone, so that
  // it and the heads of the table leave room for the rows. Its place keeps its height: nothing beneath moves.
  function shorten() {
    const strip = document.getElementById("strip");
    const above = strip && strip.previousElementSibling;
    if (!above) { return; }
    const isHeld = window.matchMedia("(min-width: 48.01rem)").matches && above.getBoundingClientRect().bottom < -8
      && Boolean(document.querySelector(".workload:focus-within"));
    if (isHeld === strip.classList.contains("is-brief")) { return; }
    const whole = strip.offsetHeight;
    strip.classList.toggle("is-brief", isHeld);
    // On the part that is never exchanged: a style on the strip itself would be copied to the next one, which the
    // page's policy refuses.
    const answer = document.getElementById("answer");
    if (answer) { answer.style.setProperty("--strip-saved", isHeld ? whole - strip.offsetHeight + "px" : "0px"); }
  }
  document.addEventListener("scroll", shorten, { passive: true });
  document.addEventListener("focusin", shorten);
  document.addEventListener("focusout", function () { setTimeout(shorten); });
  document.addEventListener("htmx:afterSettle", shorten);

  function sheet() { return document.getElementById("workload"); }
  function closeSheet() {
    if (sheet()) { sheet().classList.remove("is-open"); }
  }
  document.addEventListener("click", function (event) {
    if (event.target.closest("[data-sheet-open]")) {
      sheet().classList.add("is-open");
      const strip = document.getElementById("strip");
      if (strip) { strip.scrollIntoView({ block: "start" }); }
      const first = sheet().querySelector("input:not([type=hidden]), select");
      if (first) { first.focus({ preventScroll: true }); }
    } else if (event.target.closest(".refused-fields a")) {
      const field = document.querySelector(event.target.closest("a").getAttribute("href"));
      sheet().classList.add("is-open");
      if (field) {
        const fold = field.closest("details");
        if (fold) { fold.open = true; }
        event.preventDefault();
        field.focus();
      }
    } else if (event.target.closest("[data-sheet-close]")) {
      closeSheet();
      const opener = document.querySelector("[data-sheet-open]");
      if (opener) { opener.focus(); }
    }
  });
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape") { return; }
    closeSheet();
    document.querySelectorAll("details.chooser[open]").forEach(function (open) { open.open = false; });
  });
})();
