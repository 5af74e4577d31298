// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/style.hpp"

namespace lockstep::launcher::report {

namespace {

// A drawing is scaled to its figure, and its letters with it: a figure alone in its row is
// therefore not much wider than one that has a neighbour.
//
// The first two of several lines are wider, so that identical curves are visible as such. The
// colours follow Okabe and Ito, which colour-blind people can tell apart. Lines from the fifth on
// are also dashed.
constexpr std::string_view css = R"(
:root { color-scheme: light dark; --back: #fff; --text: #1b1b1b; --faint: #666; --rule: #ddd;
  --failed: #fbe6e0; --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #c0609a; --c4: #e69f00;
  --c5: #56b4e9; --c6: #7a5230; --c7: #8a8a8a; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181b; --text: #e8e8e8; --faint: #a5a5a5; --rule: #393d42; --failed: #4a2418;
    --c0: #3d9be0; --c1: #f08030; --c2: #2ac496; --c3: #e08fc0; --c4: #f2b632; --c5: #9bd2f4;
    --c6: #c49a6c; --c7: #9a9a9a; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 68rem; background: var(--back);
  color: var(--text); font: 16px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 0; }
.charts { display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0; min-width: 0; max-width: 36rem; break-inside: avoid; }
figcaption { color: var(--faint); font-size: .85rem; }
code { font-size: .95em; white-space: nowrap; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--faint); font-size: 13px; }
text.x { text-anchor: middle; }
text.y { text-anchor: end; }
.grid { stroke: var(--rule); fill: none; }
.axis { stroke: var(--faint); fill: none; }
.line { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round;
  stroke-linejoin: round; }
.dots, .lone { fill: none; stroke: currentColor; stroke-width: 7; stroke-linecap: round; }
.lone { stroke-width: 4; }
.band { fill: currentColor; opacity: .25; }
.area { fill: currentColor; }
.strips rect { fill: transparent; }
.strips rect:hover { fill: var(--text); opacity: .12; }
.bar { height: 1.4rem; margin-bottom: .6rem; }
.bar-label { margin: 0; font-size: .9rem; overflow-wrap: anywhere; }
.legend { margin: .1rem 0; font-size: .85rem; overflow-wrap: anywhere; }
.key { display: inline-block; margin-right: 1rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem;
  vertical-align: -.1rem; background: currentColor; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.several .line.c0 { stroke-width: 4; }
.several .line.c1 { stroke-width: 2.8; }
.line.c4, .line.c5, .line.c6, .line.c7 { stroke-dasharray: 6 4; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
th { font-weight: 600; min-width: 8rem; overflow-wrap: break-word; }
thead th, td { min-width: 5rem; overflow-wrap: anywhere; }
thead th { min-width: 7rem; }
.numbers thead th { min-width: 5rem; }
.numbers td, .numbers th + th { text-align: right; font-variant-numeric: tabular-nums; }
.end { padding: .5rem .75rem; border-left: .3rem solid var(--c7); margin: .5rem 0;
  overflow-wrap: anywhere; }
.failed { border-color: var(--c1); background: var(--failed); }
summary { cursor: pointer; font-weight: 600; padding: .4rem 0; overflow-wrap: anywhere; }
@media (max-width: 30rem) { svg text { font-size: 15px; } }
@media print { body { max-width: none; font-size: 10pt; padding: 0; } .scroll { overflow: visible; }
  .charts { grid-template-columns: 1fr 1fr; gap: .8rem; } h2 { break-after: avoid; }
  svg text { font-size: 15px; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)";

}  // namespace

std::string_view style() { return css; }

}  // namespace lockstep::launcher::report
