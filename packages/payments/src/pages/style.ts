/**
 * `STYLE` is the style sheet of the payment pages, for light and dark color schemes. A constant.
 * Invariant: it loads nothing, and every text has a contrast of at least 4.5 to 1 in both schemes.
 */
import { Html } from "./html.ts";

export const STYLE = new Html(`
:root {
  color-scheme: light dark;
  --page: #f4f4f5; --card: #ffffff; --text: #18181b; --muted: #52525b; --line: #e4e4e7;
  --accent: #1d4ed8; --on-accent: #ffffff; --good: #15803d; --bad: #b91c1c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #09090b; --card: #18181b; --text: #fafafa; --muted: #a1a1aa; --line: #3f3f46;
    --accent: #93c5fd; --on-accent: #0b1220; --good: #86efac; --bad: #fca5a5;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem;
  background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK TC", sans-serif;
}
main {
  width: 100%; max-width: 26rem; padding: 1.5rem;
  background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem;
}
h1 { margin: 0 0 0.5rem; font-size: 1.375rem; line-height: 1.25; overflow-wrap: anywhere; }
main[data-status="succeeded"] h1 { color: var(--good); }
main[data-status="failed"] h1, main[data-status="expired"] h1 { color: var(--bad); }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
.muted { color: var(--muted); }
dl { margin: 0 0 1rem; border-top: 1px solid var(--line); padding-top: 1rem; }
dt { color: var(--muted); font-size: 0.875rem; }
dd { margin: 0 0 0.75rem; overflow-wrap: anywhere; }
dd.amount { font-size: 1.5rem; font-weight: 600; font-variant-numeric: tabular-nums; }
main > :last-child { margin-bottom: 0; }
button, a.button {
  display: block; width: 100%; min-height: 2.75rem; padding: 0.625rem 1rem; text-align: center;
  border: 0; border-radius: 0.5rem; background: var(--accent); color: var(--on-accent);
  font: inherit; font-weight: 600; text-decoration: none; cursor: pointer;
}
button:focus-visible, a.button:focus-visible { outline: 3px solid var(--text); outline-offset: 2px; }
button:disabled { opacity: 0.6; cursor: progress; }
`);
