/**
 * `lexBlocks` finds the blocks of Markdown, and `lexMarkdown` also parses the text in them. Both use marked, which is
 * the only Markdown parser here. Pure.
 * Invariant: every call has a lexer of its own, and no input makes it recurse without a bound. The caller bounds the
 * length of the source: see render-cost.ts.
 */
import { Lexer, type MarkedOptions, type Token, Tokenizer, type Tokens, type TokensList } from "marked";
import type { FormulaSyntax } from "./markdown-plugin.ts";

/** The content of a block matters only to find the end of the block. */
const BLOCK_DEPTH = 6;
/** Deeper than any readable text. */
const MARKDOWN_DEPTH = 24;

/** Limits the depth of lists and quotations. Deeper ones become text. */
class BoundedLexer extends Lexer {
  private depth = 0;
  private readonly maxDepth: number;

  constructor(maxDepth: number, syntax: FormulaSyntax | null) {
    super({ gfm: true, tokenizer: new SafeTokenizer(), extensions: createExtensions(syntax) });
    this.maxDepth = maxDepth;
  }

  override blockTokens(source: string, tokens: Token[] = [], isClipped = false): TokensList {
    if (this.depth === this.maxDepth) tokens.push({ type: "text", raw: source, text: source });
    else {
      this.depth++;
      try {
        super.blockTokens(source, tokens, isClipped);
      } finally {
        this.depth--;
      }
    }
    return tokens as TokensList;
  }
}

/** marked throws if a quotation ends in an empty item directly followed by text. It is then treated as a paragraph. */
class SafeTokenizer extends Tokenizer {
  override blockquote(source: string): Tokens.Blockquote | undefined {
    const { top } = this.lexer.state;
    try {
      return super.blockquote(source);
    } catch {
      this.lexer.state.top = top;
      return undefined;
    }
  }
}

/** A formula is found before other syntax, so its characters mean nothing else. */
function createExtensions(syntax: FormulaSyntax | null): NonNullable<MarkedOptions["extensions"]> | null {
  if (syntax === null) return null;
  const find = (isBlock: boolean) => (source: string) => {
    const formula = syntax.find(source, isBlock);
    return formula === null ? undefined : { type: "formula", ...formula };
  };
  return {
    renderers: {},
    childTokens: {},
    inline: [find(false)],
    startInline: [(source) => syntax.findStart(source)],
    block: [find(true)],
    startBlock: [],
  };
}

/** Tokens have the raw text of their blocks, and no tokens of the text in them. */
export function lexBlocks(source: string, syntax: FormulaSyntax | null): readonly Token[] {
  return new BoundedLexer(BLOCK_DEPTH, syntax).blockTokens(source);
}

export function lexMarkdown(source: string, syntax: FormulaSyntax | null): readonly Token[] {
  return new BoundedLexer(MARKDOWN_DEPTH, syntax).lex(source);
}
