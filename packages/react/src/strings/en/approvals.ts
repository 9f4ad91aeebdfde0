/**
 * `approvals` are the English strings of the approval card about the tool and about long arguments.
 * Invariant: they define the shape of the other languages, so a new key needs a text in each. They are loaded with the
 * card, so they are not part of the first load.
 */
export const approvals = {
  tool: (name: string): string => `Tool: ${name}`,
  server: (name: string): string => `Server: ${name}`,
  /** The server's own text, which can claim anything. */
  title: (title: string): string => `The server calls it “${title}”.`,
  openFirst: "Open all arguments before you approve.",
  unavailable: "All arguments can't be shown, so this can't be approved.",
};
