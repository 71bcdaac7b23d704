/* Ticking rows: all at once, and how many there are. Without it, forms work as they are. */
(() => {
  "use strict";

  const boxesOf = (form) => [...form.querySelectorAll('input[name="message"]')];

  function count(form) {
    const boxes = boxesOf(form);
    const chosen = boxes.filter((box) => box.checked).length;
    const all = form.querySelector("[data-choose-all]");
    if (all) {
      all.checked = chosen > 0 && chosen === boxes.length;
      all.indeterminate = chosen > 0 && chosen < boxes.length;
    }
    const words = form.querySelector("[data-choice-count]");
    if (!words) return;
    words.dataset.none = words.dataset.none || words.textContent;
    words.textContent = chosen ? `${chosen} chosen` : words.dataset.none;
    for (const button of words.parentElement.querySelectorAll("button")) button.disabled = chosen === 0;
  }

  document.addEventListener("change", (event) => {
    const form = event.target.closest("[data-choices]");
    if (!form) return;
    if (event.target.matches("[data-choose-all]")) for (const box of boxesOf(form)) box.checked = event.target.checked;
    count(form);
  });
  document.addEventListener("focusin", (event) => {
    if (event.target.matches("[data-select-on-focus]")) event.target.select();
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      document.execCommand("copy"); // where the page did not come over TLS, browsers offer nothing else
    }
    button.textContent = "Copied";
  });
  // A live list has new rows, and a bar that forgot how many are ticked.
  document.addEventListener("willow:fresh", () => document.querySelectorAll("[data-choices]").forEach(count));
  // Also when the browser comes back to the page, with what was ticked before.
  window.addEventListener("pageshow", () => document.querySelectorAll("[data-choices]").forEach(count));
})();
