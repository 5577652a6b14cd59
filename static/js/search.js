// The search dialog: Ctrl-K, ⌘K or "/" open it, arrow keys walk through the hits. Without it the link leads to a page.
(function () {
  "use strict";

  const dialog = document.getElementById("search-dialog");
  if (!dialog || !dialog.showModal || !window.htmx) { return; }
  const input = dialog.querySelector("input[type=search]");
  const results = document.getElementById("search-dialog-results");
  const slash = dialog.querySelector("[data-search-slash]");
  const isMac = /Mac|iP(hone|ad|od)/.test(navigator.platform);

  // A single key as a shortcut disturbs those who speak to their computer: it can be switched off.
  try { slash.checked = localStorage.getItem("search-slash") !== "off"; } catch (error) { /* it stays on */ }
  slash.addEventListener("change", function () {
    try { localStorage.setItem("search-slash", slash.checked ? "on" : "off"); } catch (error) { /* for this page */ }
  });
  document.querySelectorAll("[data-search-keys]").forEach(function (keys) {
    keys.textContent = isMac ? "\u2318K" : "Ctrl K";
    keys.hidden = false;
  });

  function open() {
    if (dialog.open) { return; }
    dialog.showModal();
    input.focus();
    input.select();
  }
  function hits() { return Array.from(results.querySelectorAll("a.hit")); }
  function isTyping(target) {
    return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
  }

  document.addEventListener("keydown", function (event) {
    const isK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && slash.checked;
    if (event.isComposing || !(isK || (isSlash && !isTyping(event.target)))) { return; }
    event.preventDefault();
    if (isK && dialog.open) { dialog.close(); } else { open(); }
  });
  document.addEventListener("click", function (event) {
    if (event.target.closest("[data-search-open]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      open();
    } else if (event.target === dialog || event.target.closest("[data-search-close]")) {
      dialog.close();
    }
  });

  dialog.addEventListener("keydown", function (event) {
    if (event.isComposing) { return; }
    const all = hits();
    const at = all.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && all.length && (at >= 0 || document.activeElement === input)) {
      event.preventDefault();
      all[Math.min(at + 1, all.length - 1)].focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      event.preventDefault();
      if (at === 0) { input.focus(); } else { all[at - 1].focus(); }
    } else if (event.key.length === 1 && at >= 0 && !event.ctrlKey && !event.metaKey && !event.altKey && event.key !== " ") {
      input.focus();  // Typing goes on in the field, wherever one is among the hits.
    }
  });
  // Enter opens the first hit of what is typed; while hits are still those of an earlier text, the page answers.
  let shownFor = "";
  results.addEventListener("htmx:afterSwap", function () { shownFor = asked; });
  let asked = "";
  input.addEventListener("htmx:beforeRequest", function () { asked = input.value; });
  input.form.addEventListener("submit", function (event) {
    const all = hits();
    if (!input.value.trim()) { event.preventDefault(); return; }
    if (shownFor === input.value && all.length) {
      event.preventDefault();
      all[0].click();
    }
  });
})();
