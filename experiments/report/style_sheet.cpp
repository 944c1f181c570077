// The look of the report. Inline, so that the page is one file.
#include "experiments/report/report.h"

namespace leanstream::report {

const char* style_sheet() {
  return R"css(
:root { color-scheme: light; --ink: #1c2128; --soft: #57606a; --line: #dfe3e8; --wash: #f6f8fa; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; line-height: 1.5;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main, header > div { max-width: 70rem; margin: 0 auto; padding: 0 1.25rem; }
header { border-bottom: 1px solid var(--line); background: var(--wash); padding: 1.6rem 0 1.1rem; }
h1 { font-size: 1.7rem; margin: 0 0 .2rem; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .3rem; letter-spacing: -.005em; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; color: var(--soft); }
p { margin: .4rem 0; } .lead { color: var(--soft); max-width: 46rem; margin-bottom: 1rem; }
nav { position: sticky; top: 0; z-index: 1; background: #fffffff2;
  border-bottom: 1px solid var(--line); }
nav ul { max-width: 70rem; margin: 0 auto; padding: .45rem 1.25rem; list-style: none; display: flex;
  flex-wrap: wrap; gap: .2rem 1.1rem; align-items: center; font-size: .88rem; }
nav a { color: var(--soft); text-decoration: none; } nav a:hover { color: var(--ink); }
nav li.badges { margin-left: auto; }
.badge { display: inline-block; border-radius: 1rem; padding: .05rem .65rem; font-size: .8rem;
  font-weight: 600; background: #e4ecf7; color: #17427a; white-space: nowrap; }
.badge.weak { background: #fdeccf; color: #7a4300; }
.notes { border-left: 4px solid #e0a030; background: #fff8ea; padding: .6rem 1rem;
  margin: 1.4rem 0 0; } .notes ul { margin: .2rem 0; padding-left: 1.1rem; }
.note { color: var(--soft); font-style: italic; }
.scroll { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; color: var(--soft); font-size: .85rem; padding-bottom: .35rem; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid var(--line); text-align: right; }
th { font-weight: 600; } thead th { border-bottom: 2px solid #c6ccd4; vertical-align: bottom; }
th:first-child, td.text { text-align: left; white-space: nowrap; }
tbody tr:hover { background: var(--wash); }
.headline td, .headline thead th { min-width: 9.6rem; vertical-align: top; }
.headline thead th:first-child { vertical-align: bottom; }
.headline tbody th { vertical-align: top; padding-top: .42rem; }
.headline b { font-size: 1.12rem; } .headline small { color: var(--soft); }
.headline .bar { display: block; height: 4px; border-radius: 2px; margin: .12rem 0 .12rem auto; }
.headline small.kept, .headline small.less, .headline small:last-child { display: block; }
.headline small.less, .less { color: #a33a00; font-weight: 600; } .none { color: #8a8f98; }
table.pairs td, table.pairs thead th { text-align: left; overflow-wrap: anywhere; }
table.pairs th { font-weight: 500; }
.dot { display: inline-block; width: .7em; height: .7em; border-radius: 50%; margin-right: .5em; }
figure { margin: .5rem 0 1rem; } figcaption { font-weight: 600; font-size: .92rem; }
figure svg { display: block; width: 100%; height: auto; max-width: 60rem; }
svg text, svg g { font-family: inherit; }
.grid { display: grid; gap: .4rem 1.4rem;
  grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); }
.grid.wide { grid-template-columns: repeat(auto-fill, minmax(min(29rem, 100%), 1fr)); }
.legend { list-style: none; padding: 0; margin: .4rem 0 .6rem; display: flex; flex-wrap: wrap;
  gap: .2rem 1.3rem; font-size: .88rem; } .legend i { display: inline-block; margin-right: .5em; }
.square { width: .85em; height: .85em; border-radius: 2px; vertical-align: -.05em; }
.stroke { width: 1.9em; border-top: 3px solid; vertical-align: .25em; }
.stroke.dash2 { border-top-style: dashed; }
details { margin: .5rem 0; } summary { cursor: pointer; color: #17427a; font-size: .9rem; }
.source { font-weight: 500; white-space: nowrap; }
.source.weak { background: #fdeccf; color: #7a4300; border-radius: .3rem;
  padding: 0 .4rem; font-weight: 600; }
footer { color: var(--soft); font-size: .85rem; margin: 3rem 0 2rem; }
@media print { nav { position: static; } details { display: none; }
  section { break-inside: avoid; } }
)css";
}

}  // namespace leanstream::report
