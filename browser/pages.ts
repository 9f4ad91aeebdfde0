/** Where the built pages are that global-setup.ts serves, for tests named *.browser.test.ts. */
import { inject } from "vitest";

export type PageName = "gallery" | "live" | "recorded";

/** A page that could not be built fails only the tests that look at it. */
export type BuiltPage = { readonly url: string } | { readonly error: string };

declare module "vitest" {
  export interface ProvidedContext {
    pages: Record<PageName, BuiltPage>;
  }
}

/** An origin, without a slash at its end; its page is at `/`. */
export function pageUrl(name: PageName): string {
  const page = inject("pages")[name];
  if ("error" in page) throw new Error(`The page ${name} could not be built: ${page.error}`);
  return page.url;
}
