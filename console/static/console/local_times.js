/* Times in the zone of whoever looks. Without it they stand in UTC. */
(() => {
  "use strict";

  const format = new Intl.DateTimeFormat("en-GB", {
    year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
    timeZoneName: "short",
  });

  function translate() {
    for (const time of document.querySelectorAll("time[data-local]")) {
      time.textContent = format.format(new Date(time.dateTime));
    }
  }

  translate();
  document.addEventListener("willow:fresh", translate);
})();
