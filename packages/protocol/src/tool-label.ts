/**
 * What people are told that a tool does: its label, or words made from its name.
 */

/** `web_search` -> `Web search`. */
function fallbackLabel(name: string): string {
  const label = name.replaceAll(/[_-]+/g, " ").trim();
  return label.charAt(0).toUpperCase() + label.slice(1);
}

export function toolLabel(tool: { readonly label: string; readonly name: string }): string {
  return tool.label === "" ? fallbackLabel(tool.name) : tool.label;
}
