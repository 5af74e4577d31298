// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/live_script.hpp"

namespace lockstep::launcher::live {

namespace {

// What the reader has opened stays open, and a table that was moved sideways stays there.
constexpr std::string_view script = R"("use strict";
(() => {
  const everyMs = 2000, patienceMs = 10000;
  const state = document.getElementById("live");
  const partsOf = (page) => [...page.body.children].filter((part) => part !== page.getElementById("live"));
  // A part is known by its heading, as parts above it may come and go.
  const keyOf = (part) => part.localName + " " + (part.querySelector("h2") || { textContent: "" }).textContent;
  const textsOf = (parts) => new Map(parts.map((part) => [keyOf(part), part.outerHTML]));
  let known = textsOf(partsOf(document)), tag = "", asking = false;
  const lineOf = (details) => details.querySelector("summary").textContent;
  const keep = (before, after) => {
    const open = new Set([...before.querySelectorAll("details[open]")].map(lineOf));
    for (const details of after.querySelectorAll("details")) details.open = open.has(lineOf(details));
    const places = [...before.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    return () => [...after.querySelectorAll(".scroll")].forEach((box, i) => { box.scrollLeft = places[i] || 0; });
  };
  const put = (text) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    const fresh = partsOf(page), texts = textsOf(fresh), settle = [];
    const now = new Map(partsOf(document).map((part) => [keyOf(part), part]));
    document.title = page.title;
    document.body.className = page.body.className;
    const parts = fresh.map((part) => {
      const key = keyOf(part), before = now.get(key);
      if (before && texts.get(key) === known.get(key)) return before;
      const after = document.importNode(part, true);
      if (before) settle.push(keep(before, after));
      return after;
    });
    for (const part of now.values()) if (!parts.includes(part)) part.remove();
    parts.forEach((part, i) => {
      const here = partsOf(document)[i];
      if (here !== part) document.body.insertBefore(part, here || null);
    });
    settle.forEach((one) => one());
    known = texts;
  };
  const say = (words, failed) => {
    state.textContent = words;
    state.classList.toggle("failed", failed);
  };
  let answered = new Date();
  const ask = async () => {
    if (document.hidden || asking) return;
    asking = true;
    const stop = new AbortController(), clock = setTimeout(() => stop.abort(), patienceMs);
    try {
      const headers = tag ? { "If-None-Match": tag } : {};
      const answer = await fetch("/", { headers, cache: "no-store", signal: stop.signal });
      if (answer.status === 200) {
        put(await answer.text());
        tag = answer.headers.get("ETag") || "";
      } else if (answer.status !== 304) throw new Error(answer.status);
      answered = new Date();
      say("Refreshed in place; looked at " + answered.toLocaleTimeString() + ".", false);
    } catch (error) {
      say("No answer since " + answered.toLocaleTimeString() +
          ": lockstep report --serve has ended, or the connection is broken. It is asked again.", true);
    } finally {
      clearTimeout(clock);
      asking = false;
    }
  };
  document.addEventListener("visibilitychange", ask);
  setInterval(ask, everyMs);
  ask();
})();
)";

}  // namespace

std::string_view live_script() { return script; }

}  // namespace lockstep::launcher::live
