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
    if (event.submitter && event.submitter.name === "paste") { return; }
    const pasted = form.elements.config_text;
    if (pasted && pasted.value.trim()) { return; }
    event.preventDefault();
    window.htmx.trigger(form, "refine");
    closeSheet();
  });

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

  function sheet() { return document.getElementById("workload"); }
  function closeSheet() {
    if (sheet()) { sheet().classList.remove("is-open"); }
  }
  document.addEventListener("click", function (event) {
    if (event.target.closest("[data-sheet-open]")) {
      sheet().classList.add("is-open");
      const first = sheet().querySelector("input:not([type=hidden]), select");
      if (first) { first.focus({ preventScroll: true }); }
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
