/**
 * `toolLabel` returns the text that users see for a tool: its label, or a text derived from its name. Pure.
 * Invariant: views and dialects all use it, so a tool has the same text everywhere. An empty label counts as none.
 */

/** The built-in tool that requests a form. Its call is hidden, because the form shows it. */
export const REQUEST_FORM = "request_form";

/** `web_search` -> `Web search`. */
function fallbackLabel(name: string): string {
  const label = name.replaceAll(/[_-]+/g, " ").trim();
  return label.charAt(0).toUpperCase() + label.slice(1);
}

export function toolLabel(tool: { readonly label: string; readonly name: string }): string {
  return tool.label === "" ? fallbackLabel(tool.name) : tool.label;
}
