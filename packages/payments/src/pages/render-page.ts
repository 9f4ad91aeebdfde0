/**
 * `renderPage` renders a complete payment page with its headers. Pure.
 * Invariant: a page loads nothing from another address, runs only its own script, can't be framed, and is neither
 * cached nor indexed. Its forms can be sent only to this server and to the origins that the caller names.
 */
import { html, type Html } from "./html.ts";
import type { PageStrings } from "./en.ts";
import { STYLE } from "./style.ts";

export interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** What every page needs besides its content. */
export interface PageContext {
  readonly strings: PageStrings;
  /** Random text for the content security policy, new for every response. */
  readonly nonce: string;
}

interface PageContent {
  /** @default 200 */
  readonly status?: number;
  readonly title: string;
  readonly body: Html;
  /** Elements for the head. */
  readonly head?: Html;
  readonly script?: Html;
  /** Origins to which the forms of the page may be sent, besides this server. */
  readonly formOrigins?: readonly string[];
}

export function renderPage(
  { strings, nonce }: { readonly strings: Pick<PageStrings, "locale">; readonly nonce: string },
  content: PageContent,
): Page {
  const { status = 200, title, body, head = null, script, formOrigins = [] } = content;
  const page = html`<!doctype html>
    <html lang="${strings.locale}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        ${head}
        <style nonce="${nonce}">
          ${STYLE}
        </style>
      </head>
      <body>
        ${body}
        ${
          script === undefined
            ? null
            : html`<script nonce="${nonce}">
                ${script};
              </script>`
        }
      </body>
    </html> `;
  return { status, headers: pageHeaders(nonce, formOrigins), text: page.text };
}

function pageHeaders(nonce: string, formOrigins: readonly string[]): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    // Chromium also applies this to the address that the response to a form redirects to.
    `form-action ${["'self'", ...formOrigins.filter(isOrigin)].join(" ")}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy.join("; "),
    "cache-control": "no-store",
    "x-robots-tag": "noindex",
    // The content depends on the languages that the browser accepts.
    vary: "accept-language",
  };
}

/** Text that is no origin could add directives to the policy. */
function isOrigin(text: string): boolean {
  return URL.parse(text)?.origin === text;
}
