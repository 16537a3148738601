// Only comfort: everything on the page is there, and can be filtered, without this.
(() => {
  "use strict";
  const all = (query) => [...document.querySelectorAll(query)];
  const checks = all(".check");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");

  for (const element of all(".copy")) {
    if (!navigator.clipboard) continue;
    element.hidden = false;
    element.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(element.previousElementSibling.textContent);
        element.textContent = "Copied";
      } catch {
        element.textContent = "Refused";
      }
      setTimeout(() => { element.textContent = "Copy"; }, 1500);
    });
  }

  const expires = document.getElementById("expires");
  if (expires && new Date(`${expires.dateTime}T23:59:59Z`) < new Date()) {
    const note = document.getElementById("expired");
    note.textContent = `Expired: this report stood until ${expires.dateTime}.`;
    note.hidden = false;
  }

  if (!search) return;
  document.querySelector(".tools").hidden = false;
  const visible = () => checks.filter((check) => check.checkVisibility());
  const count = () => { shown.textContent = `${visible().length} of ${checks.length} shown`; };
  const words = new Map();
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const check of checks) {
      if (!words.has(check)) words.set(check, check.textContent.toLowerCase());
      const text = words.get(check);
      check.classList.toggle("off", !wanted.every((word) => text.includes(word)));
    }
    count();
  });
  for (const input of all(".filters input[type=radio]")) input.addEventListener("change", count);
  document.getElementById("open-all").addEventListener("click", () => { for (const check of visible()) check.open = true; });
  document.getElementById("close-all").addEventListener("click", () => { for (const check of checks) check.open = false; });

  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    const check = target && target.closest(".check");
    if (!check) return;
    if (!check.checkVisibility()) {
      search.value = "";
      search.dispatchEvent(new Event("input"));
      for (const name of ["state", "level", "area"]) document.querySelector(`input[name=${name}]`).click();
    }
    check.open = true;
    check.scrollIntoView();
    check.querySelector("summary").focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);
  reveal();
  count();
})();
