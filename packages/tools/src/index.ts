/** `@turnstream/tools` exports `webTools`: tools that read pages, search the web, call services and generate images. */
export type { FetchWebContentOptions } from "./fetch-web-content.ts";
export type { ImageGenerator, ImageRequest } from "./generate-image.ts";
export type { HttpRequestOptions } from "./http-request.ts";
export type { HttpRule } from "./http-rules.ts";
export type { WebPage, WebQuery, WebSearch } from "./search-web.ts";
export { webTools, type WebToolOptions } from "./web-tools.ts";
