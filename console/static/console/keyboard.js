/* The theme has places that only a mouse can press. Here they become buttons, for keyboards and screen readers. */
(() => {
  "use strict";

  const NAMES = { dock_to_right: "Navigation", close: "Close the navigation" };
  const PRESSABLE = "a, button, input, select, textarea, summary, label";

  function nameOf(place) {
    const icon = place.textContent.trim();
    return NAMES[icon] || (place.closest("#nav-sidebar") ? "Account and theme" : icon);
  }

  function upgrade() {
    for (const place of document.querySelectorAll("[x-on\\:click]")) {
      if (place.matches(PRESSABLE)) continue;
      place.setAttribute("role", "button");
      place.setAttribute("tabindex", "0");
      if (!place.hasAttribute("aria-label")) place.setAttribute("aria-label", nameOf(place));
    }
  }

  function press(event) {
    const isKey = event.key === "Enter" || event.key === " ";
    if (isKey && event.target.matches("[role=button][x-on\\:click]") && !event.target.matches(PRESSABLE)) {
      event.preventDefault();
      event.target.click();
    }
  }

  document.addEventListener("DOMContentLoaded", upgrade);
  document.addEventListener("keydown", press);
})();
