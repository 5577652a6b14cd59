// Runs before the page is drawn, so that a chosen theme never flashes. Without it the system's choice holds.
(function () {
  "use strict";
  const root = document.documentElement;
  root.classList.add("scripted");
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch (error) { chosen = null; }
  if (chosen === "light" || chosen === "dark") { root.dataset.theme = chosen; }

  function isDark() {
    if (root.dataset.theme) { return root.dataset.theme === "dark"; }
    return window.matchMedia("(prefers-color-scheme: dark)").matches;
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-theme-toggle]");
    if (!button) { return; }
    root.dataset.theme = isDark() ? "light" : "dark";
    button.setAttribute("aria-pressed", String(isDark()));
    try { localStorage.setItem("theme", root.dataset.theme); } catch (error) { /* the choice lasts for this page */ }
    document.dispatchEvent(new CustomEvent("themechange"));
  });

  document.addEventListener("DOMContentLoaded", function () {
    const button = document.querySelector("[data-theme-toggle]");
    if (button) { button.setAttribute("aria-pressed", String(isDark())); }
  });
})();
