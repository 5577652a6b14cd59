// Copies the address of a new link. Without scripts the button is not there, and the field can be copied by hand.
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("[data-copy]")) {
    const field = document.getElementById(button.dataset.copy);
    button.hidden = false;
    button.addEventListener("click", async () => {
      field.select();
      let copied = false;
      try {
        await navigator.clipboard.writeText(field.value);
        copied = true;
      } catch {
        copied = document.execCommand("copy"); // no clipboard on plain http
      }
      if (copied) {
        button.textContent = button.dataset.done;
      }
    });
  }
});
