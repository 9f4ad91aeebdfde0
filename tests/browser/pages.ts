/** `pageUrl` returns the URL of a built page that global-setup.ts serves, for tests named *.browser.test.ts. */
import { inject } from "vitest";

export type PageName = "gallery" | "live" | "recorded";

/** A page that could not be built fails only the tests that use it. */
export type BuiltPage = { readonly url: string } | { readonly error: string };

declare module "vitest" {
  export interface ProvidedContext {
    pages: Record<PageName, BuiltPage>;
  }
}

/** Returns an origin without a trailing slash. The page is at `/`. */
export function pageUrl(name: PageName): string {
  const page = inject("pages")[name];
  if ("error" in page) throw new Error(`The page ${name} could not be built: ${page.error}`);
  return page.url;
}
