/**
 * `toToolOutput` converts the result of an MCP tool to a tool output, with content for the model and blocks for the
 * user. `toToolError` converts the result of a failed call. Pure.
 * Invariant: the result is data: nothing in it is fetched, executed or used as an instruction. Only image types that
 * can't contain scripts become pictures. Blocks, texts of blocks, error texts and pictures are bounded. The server's
 * audience decides whether the model or the user gets a piece.
 */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import type { Json } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import type { ResultBlock, ToolOutput } from "@turnstream/server";
import { isBase64 } from "@turnstream/server/internal";

/** Image types that can be displayed. None of them can contain scripts. */
const PICTURE = /^image\/(png|jpeg|gif|webp|avif)$/;
const MAX_PICTURE = 20_000_000;
const MAX_BLOCKS = 100;
/** Maximum characters of one block for the user. */
const MAX_TEXT = 16_000;
const MAX_ERROR = 8_000;

interface Piece {
  /** Text for the model. */
  readonly text: string;
  readonly block: ResultBlock;
  readonly forModel: boolean;
  readonly forUser: boolean;
}

export function toToolOutput(result: CallToolResult): ToolOutput {
  const pieces = result.content.slice(0, MAX_BLOCKS).map(pieceOf);
  const shown = pieces.filter(({ forUser }) => forUser).map(({ block }) => block);
  const content = contentOf(pieces, result.structuredContent as Json | undefined);
  // Plain text needs no blocks of its own: it is displayed like any other tool result.
  const isPlain = pieces.every(({ block, forModel, forUser }) => {
    return block.type === "text" && forModel && forUser;
  });
  return isPlain ? { content } : { content, blocks: shown };
}

/** Returns the text that the model reads if the server reports a failed call. */
export function toToolError(result: CallToolResult): string {
  const text = textOf(result.content.slice(0, MAX_BLOCKS).map(pieceOf));
  return text === "" ? "The tool failed without an error message." : truncateText(text, MAX_ERROR);
}

/**
 * Removes text that repeats the structured content. Servers send both for clients that don't support structured
 * content.
 */
function contentOf(pieces: readonly Piece[], structured: Json | undefined): Json {
  const texts = pieces.filter(({ forModel }) => forModel);
  if (structured === undefined) return textOf(texts);
  const json = JSON.stringify(structured);
  const rest = texts.filter(({ text }) => compact(text) !== json);
  return rest.length === 0 ? structured : { text: textOf(rest), structured };
}

function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join("\n\n");
}

function pieceOf(block: ContentBlock): Piece {
  const audience = block.annotations?.audience;
  const made = readBlock(block);
  const shown = made.block ?? { type: "text" as const, text: truncateText(made.text, MAX_TEXT) };
  return {
    text: made.text,
    block: shown,
    forModel: audience === undefined || audience.length === 0 || audience.includes("assistant"),
    forUser: audience === undefined || audience.length === 0 || audience.includes("user"),
  };
}

function readBlock(block: ContentBlock): { text: string; block?: ResultBlock } {
  switch (block.type) {
    case "text":
      return { text: block.text };
    case "image":
      return picture(block.data, block.mimeType);
    case "audio":
      return { text: `[Sound, ${block.mimeType}, ${sizeOf(block.data)} bytes. It can't be played here.]` };
    case "resource_link":
      return { text: `[${block.title ?? block.name}: ${block.uri}]${about(block.description)}` };
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return { text: `[${resource.uri}]\n${resource.text}` };
      const type = resource.mimeType ?? "application/octet-stream";
      if (PICTURE.test(type)) return picture(resource.blob, type);
      return {
        text: `[File ${resource.uri}, ${type}, ${sizeOf(resource.blob)} bytes. Its content is not shown.]`,
      };
    }
    default:
      return { text: "[Something that can't be shown here.]" };
  }
}

function about(description: string | undefined): string {
  return description === undefined ? "" : ` ${description}`;
}

function picture(data: string, type: string): { text: string; block?: ResultBlock } {
  const what = `${type}, ${sizeOf(data)} bytes`;
  if (sizeOf(data) > MAX_PICTURE) return { text: `[A picture that is too large to be shown: ${what}.]` };
  if (!PICTURE.test(type) || data === "" || !isBase64(data))
    return { text: `[A picture that can't be shown: ${what}.]` };
  return {
    text: `[A picture, ${what}. The user sees it.]`,
    block: { type: "image", data, mediaType: type },
  };
}

function sizeOf(base64: string): number {
  return Math.floor((base64.replaceAll("=", "").length * 3) / 4);
}
