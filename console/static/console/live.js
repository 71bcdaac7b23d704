/* Keeps the live part of a page up to date, opens questions, and reads values off charts. */
(() => {
  "use strict";

  const LIVE_ADDRESS = "/console/live/";
  const FIRST_WAIT = 500; // milliseconds before connecting again
  const LONGEST_WAIT = 15000;
  const NOT_ALLOWED = 4403;

  /* -- live parts -- */

  /** Make `old` look like `fresh`, keeping what is alike: focus and selection survive. */
  function morph(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
      old.replaceWith(fresh);
      return;
    }
    if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE || old.isEqualNode(fresh)) return;
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    morphChildren(old, fresh);
  }

  function keyOf(node) {
    return node.nodeType === Node.ELEMENT_NODE ? node.dataset.key || node.id || null : null;
  }

  function morphChildren(old, fresh) {
    const byKey = new Map([...old.children].map((child) => [keyOf(child), child]));
    let place = old.firstChild;
    for (const wanted of [...fresh.childNodes]) {
      const key = keyOf(wanted);
      const known = key ? byKey.get(key) : place && !keyOf(place) ? place : null;
      if (!known) {
        old.insertBefore(wanted, place);
        continue;
      }
      if (known !== place) old.insertBefore(known, place);
      else place = place.nextSibling;
      morph(known, wanted);
    }
    while (place) {
      const next = place.nextSibling;
      place.remove();
      place = next;
    }
  }

  function watch(part) {
    let socket = null;
    let wait = FIRST_WAIT;

    function show(state) {
      for (const mark of document.querySelectorAll(".live-mark")) {
        mark.dataset.state = state;
        mark.textContent = { live: "Live", lost: "Not up to date", gone: "This is gone" }[state] || "Connecting";
      }
    }

    function connect() {
      const scheme = location.protocol === "https:" ? "wss:" : "ws:";
      socket = new WebSocket(`${scheme}//${location.host}${LIVE_ADDRESS}`);
      socket.onopen = () => {
        socket.send(JSON.stringify({ watch: location.pathname + location.search }));
      };
      socket.onmessage = (event) => {
        const news = JSON.parse(event.data);
        show(news.state);
        wait = FIRST_WAIT;
        if (news.html === undefined) return;
        const fresh = document.createElement("div");
        fresh.innerHTML = news.html;
        morphChildren(part, fresh);
        part.dispatchEvent(new CustomEvent("willow:fresh", { bubbles: true }));
      };
      socket.onclose = (event) => {
        socket = null;
        if (document.hidden) return;
        show("lost");
        if (event.code === NOT_ALLOWED) return;
        setTimeout(() => socket === null && !document.hidden && connect(), wait * (0.5 + Math.random()));
        wait = Math.min(wait * 2, LONGEST_WAIT);
      };
    }

    // Nobody watches a page that is not in front.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden && socket) socket.close();
      else if (!document.hidden && socket === null) connect();
    });
    connect();
  }

  /* -- questions -- */

  function openQuestions(event) {
    const asks = event.target.closest("[data-ask]");
    if (asks) {
      event.preventDefault();
      document.getElementById(asks.dataset.ask).showModal();
    }
    if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
  }

  /** A button that works only once its name has been typed. */
  function matchTyped(event) {
    const wanted = event.target.dataset.mustMatch;
    if (wanted === undefined) return;
    const button = event.target.form.querySelector("[type=submit]");
    button.disabled = event.target.value !== wanted;
  }

  /* -- charts -- */

  function readOff(event) {
    const chart = event.target.closest && event.target.closest("figure.graph");
    if (!chart) return;
    const plot = chart.querySelector("svg").getBoundingClientRect();
    const data = JSON.parse(chart.dataset.chart);
    const place = Math.round(((event.clientX - plot.left) / plot.width) * (data.labels.length - 1));
    const at = Math.min(Math.max(place, 0), data.labels.length - 1);
    const values = data.series.map(({ name, values }) => `${name} ${values[at] === null ? "–" : values[at].toLocaleString("en")}${data.unit}`);
    chart.querySelector(".readout").textContent = `${data.labels[at]}  ${values.join("  ")}`;
  }

  document.addEventListener("click", openQuestions);
  document.addEventListener("input", matchTyped);
  document.addEventListener("pointermove", readOff);
  document.addEventListener("DOMContentLoaded", () => {
    const part = document.querySelector("[data-live]");
    if (part) watch(part);
  });
})();
