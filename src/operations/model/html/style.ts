// Colours by custom properties: light by default, dark if the reader's system prefers it. A card that is wider than the
// screen scrolls, with a shade at the edge that hides more.

export const STYLE = `
:root { color-scheme: light dark; --bg: #fbfbfa; --card: #fff; --line: #e3e3df; --text: #1d1f23; --dim: #656a73; --track: #eef0f2; --shade: #0002;
  --red: #b3261e; --red-bg: #fbeae8; --amber: #8a5a00; --amber-bg: #fdf3dd; --blue: #1f5fa8; --blue-bg: #e8f0fa; --green: #226b3a; --green-bg: #e6f4ea;
  --c0: #3b6fb6; --c1: #e08a3c; --c2: #4f9d69; --c3: #b45a8c; --c4: #7a6cc4; --c5: #c2a33a; --c6: #3f9aa3; --c7: #a35f45; --c8: #8a949e; --c9: #9cb343; }
@media (prefers-color-scheme: dark) { :root { --bg: #15171a; --card: #1d2024; --line: #31353b; --text: #e8e9eb; --dim: #9aa1ab; --track: #2a2e34; --shade: #000a;
  --red: #ff9d94; --red-bg: #41211e; --amber: #f0c36a; --amber-bg: #3b2f15; --blue: #8fbcf5; --blue-bg: #1b2e45; --green: #86d3a0; --green-bg: #1b3625;
  --c0: #6f9fe0; --c1: #e9a566; --c2: #74bf8c; --c3: #d283b0; --c4: #a194e6; --c5: #d8bf63; --c6: #68bcc4; --c7: #c9866c; --c8: #98a2ad; --c9: #b9cf68; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 80px; }
header { margin-bottom: 28px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; font-weight: 650; letter-spacing: -.01em; text-wrap: balance; }
h2 { font-size: 18px; margin: 44px 0 12px; font-weight: 650; }
p { margin: 0 0 12px; } .dim { color: var(--dim); } .small { font-size: 13px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); gap: 12px; margin: 20px 0 0; }
.tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tile { padding: 14px 16px; } .tile b { display: block; font-size: 24px; line-height: 1.2; font-weight: 650; font-variant-numeric: tabular-nums; } .tile span { color: var(--dim); font-size: 13px; }
.card { padding: 18px 20px; overflow-x: auto; background:
  linear-gradient(to right, var(--card) 40%, #0000) left / 48px 100% no-repeat local, linear-gradient(to left, var(--card) 40%, #0000) right / 48px 100% no-repeat local,
  linear-gradient(to right, var(--shade), #0000) left / 14px 100% no-repeat, linear-gradient(to left, var(--shade), #0000) right / 14px 100% no-repeat, var(--card); }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(320px, 100%), 1fr)); gap: 12px; }
.grid h3 { margin: 0 0 6px; font-size: 15px; } .grid dl { margin: 0; display: grid; grid-template-columns: auto 1fr; gap: 2px 14px; font-size: 13px; } dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; } th { text-align: left; color: var(--dim); font-weight: 550; white-space: nowrap; }
th, td { padding: 7px 14px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top; } tr:last-child td { border-bottom: 0; } .num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font: 12.5px/1.4 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
svg { display: block; width: 100%; height: auto; } svg text { font: 12.5px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--text); } svg .dimt { fill: var(--dim); } svg .over { fill: var(--red); font-weight: 600; } svg .track { fill: var(--track); } svg .axis { stroke: var(--line); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 12px 0 0; font-size: 13px; color: var(--dim); } .legend i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; }
.f { padding: 12px 0; border-bottom: 1px solid var(--line); } .f:last-child { border-bottom: 0; } .f p { margin: 2px 0; } .f .small, .f p { overflow-wrap: anywhere; }
.group { margin-bottom: 12px; } summary { cursor: pointer; overflow-wrap: anywhere; } summary h3 { display: inline; font-size: 15px; } .f[open] > summary { font-weight: 600; } .f:target, .card:target { outline: 2px solid var(--blue); outline-offset: 4px; } .caret { background: none; } [id^=rule-] { margin-bottom: 12px; } [id^=rule-] h3 { margin: 0 0 6px; font-size: 15px; } a { color: var(--blue); }
.tag { display: inline-block; padding: 1px 8px; border-radius: 99px; font-size: 12px; font-weight: 600; margin-right: 6px; } .error { color: var(--red); background: var(--red-bg); } .warning { color: var(--amber); background: var(--amber-bg); } .information { color: var(--blue); background: var(--blue-bg); } .ok { color: var(--green); background: var(--green-bg); }
pre { margin: 6px 0 0; padding: 8px 10px; border-radius: 6px; background: var(--track); overflow-x: auto; font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
@media print { main { max-width: none; padding: 0; } .card, .tile { break-inside: avoid; } }
`;

/** Segments take these in turn. */
export const colour = (index: number): string => `var(--c${index % 10})`;
