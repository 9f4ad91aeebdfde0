/**
 * `webTools` creates the tools that its options enable, under their names on the wire. A developer spreads them beside
 * other tools: `tools: { ...webTools({ fetchWebContent: true }), mine }`.
 *
 * Invariant: a tool exists only if its option is given. `Names` must list the same tools as the function returns.
 */
import type { FetchPolicy, Tool } from "@turnstream/server";
import type { EnabledTools } from "@turnstream/server/internal";
import { type FetchWebContentOptions, fetchWebContentTool } from "./fetch-web-content.ts";
import { generateImageTool, type ImageGenerator } from "./generate-image.ts";
import { type HttpRequestOptions, httpRequestTool } from "./http-request.ts";
import { searchWebTool, type WebSearch } from "./search-web.ts";

export interface WebToolOptions {
  /** `http_request`: the HTTP services that these rules allow. */
  readonly httpRequest?: HttpRequestOptions;
  /** `fetch_web_content`: pages of the public internet. @default false */
  readonly fetchWebContent?: boolean | FetchWebContentOptions;
  /** `search_web` with this service. */
  readonly searchWeb?: WebSearch;
  /** `generate_image` with this service. */
  readonly generateImage?: ImageGenerator;
  /** Which addresses the tools may fetch. Default: the worker's `fetchPolicy`. */
  readonly fetch?: FetchPolicy;
}

/** The tool name that each option adds. */
interface Names {
  httpRequest: "http_request";
  fetchWebContent: "fetch_web_content";
  searchWeb: "search_web";
  generateImage: "generate_image";
}

export function webTools<const Options extends WebToolOptions>(
  options: Options,
): EnabledTools<Options, Names>;
export function webTools({
  fetch,
  httpRequest,
  fetchWebContent = false,
  searchWeb,
  generateImage,
}: WebToolOptions): Record<string, Tool> {
  const web = fetchWebContent === true ? {} : fetchWebContent;
  return {
    ...(httpRequest === undefined ? {} : { http_request: httpRequestTool(httpRequest, fetch) }),
    ...(web === false ? {} : { fetch_web_content: fetchWebContentTool(web, fetch) }),
    ...(searchWeb === undefined ? {} : { search_web: searchWebTool(searchWeb) }),
    ...(generateImage === undefined ? {} : { generate_image: generateImageTool(generateImage) }),
  };
}
