"use strict";
// Walks through the steps of the trace in the page. The swim lanes are in the page already, and need no script.
(() => {
  const trace = JSON.parse(document.getElementById("trace").textContent);
  const byId = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll("tr.step")];
  const last = trace.steps.length - 1;
  let current = 0;

  const make = (tag, text = "", name = "") => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (name) element.className = name;
    return element;
  };

  const coded = (step) => {
    const line = make("p", "Code: ");
    line.append(make("code", step.code));
    return line;
  };

  const listed = (texts) => {
    const list = make("ul");
    for (const text of texts) {
      const item = make("li");
      item.append(make("code", text));
      list.append(item);
    }
    return list;
  };

  const broken = (property) => {
    const box = make("div", "", "break");
    box.dataset.property = property.name;
    box.append(make("strong", property.headline));
    const promise = make("p");
    promise.append(make("q", property.sentence));
    box.append(promise);
    for (const reason of property.reasons) box.append(make("p", reason.sentence), listed(reason.values));
    return box;
  };

  const tell = (step) => {
    const told = byId("told");
    told.replaceChildren(make("h2", `${step.number}. ${step.title}`), coded(step));
    told.append(...(step.changes.length ? [listed(step.changes)] : [make("p", step.unchanged)]));
    told.append(...step.broken.map(broken));
    if (step.after) told.append(make("p", step.after));
  };

  const logged = (entry) => {
    const item = make("li", `${entry.seq} ${entry.kind} `, entry.state);
    item.append(make("small", entry.word));
    return item;
  };

  const group = ({ name, places }) => {
    const list = make("dl");
    for (const { place, label, value, changed } of places) {
      const pair = make("div", "", changed ? "changed" : "");
      const shown = make("dd", value);
      shown.dataset.place = place;
      pair.append(make("dt", label), shown);
      list.append(pair);
    }
    return [make("h4", name), list];
  };

  const show = (index) => {
    current = Math.max(0, Math.min(last, index));
    const step = trace.steps[current];
    byId("where").textContent = `Step ${step.number} of ${last + 1}`;
    for (const id of ["first", "previous"]) byId(id).disabled = current === 0;
    for (const id of ["next", "last"]) byId(id).disabled = current === last;
    tell(step);
    byId("log").replaceChildren(...(step.log.length ? step.log.map(logged) : [make("li", "empty")]));
    byId("places").replaceChildren(...step.groups.flatMap(group));
    rows.forEach((row, at) => {
      if (at === current) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
  };

  // On a narrow screen the lanes are below the step, and walking must not leave it.
  const isBeside = () => matchMedia("(min-width: 75rem)").matches;
  const go = (index) => {
    show(index);
    history.replaceState(null, "", `#step-${current + 1}`);
    if (isBeside()) rows[current].scrollIntoView({ block: "nearest" });
  };

  const keys = {
    ArrowRight: () => current + 1,
    ArrowDown: () => current + 1,
    ArrowLeft: () => current - 1,
    ArrowUp: () => current - 1,
    Home: () => 0,
    End: () => last,
  };
  document.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(keys[event.key]());
  });

  byId("first").addEventListener("click", () => go(0));
  byId("previous").addEventListener("click", () => go(current - 1));
  byId("next").addEventListener("click", () => go(current + 1));
  byId("last").addEventListener("click", () => go(last));
  // A click on a step's row, or on a link to a step; with another key held a link is the browser's.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#step-"]');
    const row = link ? byId(link.hash.slice(1)) : event.target.closest("tr.step");
    if (!row || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(rows.indexOf(row));
    if (!isBeside()) byId("walker").scrollIntoView();
  });

  const ofHash = () => {
    const named = /^#step-(\d+)$/.exec(location.hash);
    return named ? Number(named[1]) - 1 : 0;
  };
  addEventListener("hashchange", () => show(ofHash()));
  byId("walker").hidden = false;
  show(ofHash());
})();
