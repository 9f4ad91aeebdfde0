/**
 * `builtInTools` creates the built-in tools that its options enable, under their names on the wire. A developer spreads
 * them beside their own tools: `tools: { ...builtInTools({ memory: true }), mine }`.
 *
 * Invariant: a tool exists only if its option is given. `Names` must list the same tools as the function returns.
 * `call_agent`, `request_form`, `request_payment` and `ask_user_question` are options of the agent: they do more than a
 * tool can.
 */
import type { FetchPolicy } from "../../safe-fetch/policy.ts";
import type { Tool } from "../define/tool.ts";
import { type FetchWebContentOptions, fetchWebContentTool } from "./fetch-web-content.ts";
import { generateImageTool, type ImageGenerator } from "./generate-image.ts";
import { type HttpRequestOptions, httpRequestTool } from "./http-request.ts";
import { type KnowledgeOptions, knowledgeTools } from "./knowledge.ts";
import { lookupHistoryTool } from "./lookup-history.ts";
import { type MemoryOptions, memoryTool } from "./memory.ts";
import { searchWebTool, type WebSearch } from "./search-web.ts";

export interface BuiltInOptions {
  /** `memory`: what the agent remembers about the user across sessions. @default false */
  readonly memory?: boolean | MemoryOptions;
  /** `lookup_history`: earlier turns of the session. @default false */
  readonly lookupHistory?: boolean;
  /** `http_request`: the HTTP services that these rules allow. */
  readonly httpRequest?: HttpRequestOptions;
  /** `fetch_web_content`: pages of the public internet. @default false */
  readonly fetchWebContent?: boolean | FetchWebContentOptions;
  /** `retrieve_context_objs` and `get_context_obj_lines`: the tenant's knowledge bases. */
  readonly knowledge?: KnowledgeOptions;
  /** `search_web` with this service. */
  readonly searchWeb?: WebSearch;
  /** `generate_image` with this service. */
  readonly generateImage?: ImageGenerator;
  /** Which addresses the tools may fetch. Default: the worker's `fetchPolicy`. */
  readonly fetch?: FetchPolicy;
}

/** The tool names that each option adds. */
interface Names {
  memory: "memory";
  lookupHistory: "lookup_history";
  httpRequest: "http_request";
  fetchWebContent: "fetch_web_content";
  knowledge: "retrieve_context_objs" | "get_context_obj_lines";
  searchWeb: "search_web";
  generateImage: "generate_image";
}

/** The enabled tools as typed properties, so that a developer can pick and change one. */
type BuiltIn<Options> = Record<string, Tool> & {
  readonly [
    Option in keyof Options & keyof Names as Options[Option] extends object | true ? Names[Option] : never
  ]: Tool;
};

export function builtInTools<const Options extends BuiltInOptions>(options: Options): BuiltIn<Options>;
export function builtInTools(options: BuiltInOptions): Record<string, Tool> {
  const { fetch, fetchWebContent = false, memory = false } = options;
  const web = fetchWebContent === true ? {} : fetchWebContent;
  return {
    ...(memory === false ? {} : { memory: memoryTool(memory === true ? {} : memory) }),
    ...(options.lookupHistory === true ? { lookup_history: lookupHistoryTool() } : {}),
    ...(options.httpRequest === undefined
      ? {}
      : { http_request: httpRequestTool(options.httpRequest, fetch) }),
    ...(web === false ? {} : { fetch_web_content: fetchWebContentTool(web, fetch) }),
    ...(options.knowledge === undefined ? {} : knowledgeTools(options.knowledge)),
    ...(options.searchWeb === undefined ? {} : { search_web: searchWebTool(options.searchWeb) }),
    ...(options.generateImage === undefined
      ? {}
      : { generate_image: generateImageTool(options.generateImage) }),
  };
}
