/**
 * `html` builds HTML from a template, and `Html` is text that is already HTML. Pure.
 * Invariant: every value in a template is escaped, except other `Html`. Attribute values must be quoted. No value
 * belongs into a script or a style: pass it as a `data-` attribute.
 */

/** HTML that a browser may receive as it is. */
export class Html {
  readonly text: string;

  /** @param text a constant; use `html` for everything that contains a value */
  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | readonly Html[] | null;

export function html(template: TemplateStringsArray, ...values: readonly Value[]): Html {
  const text = template.reduce((before, part, n) => `${before}${toHtml(values[n - 1] ?? null)}${part}`);
  return new Html(text);
}

function toHtml(value: Value): string {
  if (value === null) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "string" || typeof value === "number") return escapeHtml(String(value));
  return value.map(({ text }) => text).join("");
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
