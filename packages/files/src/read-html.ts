/**
 * `readHtml` extracts the readable text of a web page as lines: headings, paragraphs, lists and table rows. Scripts,
 * styles, menus and hidden elements are left out. Does not fetch.
 * Invariant: it parses the page as a stream and builds no tree, so that deep nesting can't overflow the stack. Time
 * stays linear: lines are split at 5,000 characters, and a page is cut off at 2,000 levels.
 */

export interface HtmlText {
  /** "" if the page has none. */
  readonly title: string;
  readonly text: string;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const IGNORED = words(
  "script style noscript template svg math iframe object canvas head nav footer select button textarea audio video",
);
const LINES = words(
  "p div section article main header aside ul ol dl dt dd table tr blockquote pre figure figcaption hr address details summary body",
);
const HEADING = /^h([1-6])$/;
/** Elements without an end tag. */
const VOID = words("area base br col embed hr img input link meta source track wbr");

/** Longer lines are split. Appending to a very long line repeatedly would take quadratic time. */
const MAX_LINE = 5_000;

/** The parser gets slower with depth. Real pages are not this deep, so the rest of a deeper page is left out. */
const MAX_DEPTH = 2_000;
const SLICE = 8_192;
const MAX_LINK = 2_000;

export interface HtmlOptions {
  /** If true, the URL of each link follows its text in brackets. @default false */
  readonly links?: boolean;
  /** Runs the parsing of one short part. The process can do other work between two parts. @default at once */
  readonly run?: (task: () => void) => Promise<void> | void;
}

export async function readHtml(html: string, options: HtmlOptions = {}): Promise<HtmlText> {
  const { links = false, run = (task) => task() } = options;
  const { Parser } = await import("htmlparser2");
  const reader = new Reader(links);
  const parser = new Parser(
    {
      onopentag: (name, attributes) => reader.open(name, attributes),
      ontext: (text) => reader.text(text),
      onclosetag: (name) => reader.close(name),
    },
    { decodeEntities: true, lowerCaseTags: true },
  );
  for (let at = 0; at < html.length && reader.depth < MAX_DEPTH; at += SLICE) {
    const part = html.slice(at, at + SLICE);
    await run(() => parser.write(part));
  }
  if (reader.depth < MAX_DEPTH) parser.end();
  return reader.end();
}

class Reader {
  readonly #links: boolean;
  /** URL of the current link, or "". */
  #link = "";
  /** Text of the current link. The URL is not repeated if the text is the URL itself. */
  #linkText = "";
  readonly #lines: string[] = [];
  #line = "";
  /**
   * Last character of the line, stored separately because reading it from a growing string copies the string each time.
   */
  #last = "";
  depth = 0;
  #title = "";
  #inTitle = false;
  /** Nesting depth inside an ignored element; 0 outside. */
  #ignored = 0;
  #pre = 0;

  constructor(links: boolean) {
    this.#links = links;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === "title") this.#inTitle = this.#title === "";
    if (VOID.has(name)) {
      if (this.#ignored === 0) this.#openVoid(name, attributes);
      return;
    }
    this.depth++;
    // Inside an ignored element, only count the depth, to find its end.
    if (this.#ignored > 0 || IGNORED.has(name) || isHidden(attributes)) {
      this.#ignored++;
      return;
    }
    if (name === "a") this.#openLink(attributes);
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined) {
      this.#break();
      this.#lines.push("");
      this.#begin(`${"#".repeat(Number(level))} `);
    } else if (name === "li") {
      this.#break();
      this.#begin("- ");
    } else if (name === "td" || name === "th") {
      if (this.#line !== "") this.#add(this.#last === " " ? "| " : " | ");
    } else if (LINES.has(name)) this.#break();
    if (name === "p" || name === "table") this.#lines.push("");
    if (name === "pre") this.#pre++;
  }

  text(text: string): void {
    if (this.#inTitle) this.#title += text;
    if (this.#ignored > 0) return;
    if (this.#link !== "" && this.#linkText.length <= MAX_LINK) this.#linkText += text;
    if (this.#pre > 0) {
      const [first = "", ...rest] = text.split("\n");
      this.#add(first);
      for (const line of rest) {
        this.#break();
        this.#begin(line);
      }
      return;
    }
    const plain = text.replace(/\s+/g, " ");
    this.#add(this.#line === "" || this.#last === " " ? plain.trimStart() : plain);
  }

  close(name: string): void {
    if (name === "title") this.#inTitle = false;
    if (VOID.has(name)) return;
    this.depth--;
    if (this.#ignored > 0) {
      this.#ignored--;
      return;
    }
    if (name === "a") this.#closeLink();
    if (name === "pre") this.#pre = Math.max(0, this.#pre - 1);
    if (LINES.has(name) || HEADING.test(name) || name === "li") this.#break();
  }

  end(): HtmlText {
    this.#break();
    const text = this.#lines
      .join("\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim();
    return { title: this.#title.replace(/\s+/g, " ").trim(), text };
  }

  #openVoid(name: string, { alt = "" }: Readonly<Record<string, string>>): void {
    if (name === "br" || name === "hr") this.#break();
    if (name === "img" && alt.trim() !== "") this.text(` [${alt.trim()}] `);
  }

  /** Only absolute http and https links are included. Relative links have no meaning outside of the page. */
  #openLink({ href = "" }: Readonly<Record<string, string>>): void {
    const isWhole = href.length <= MAX_LINK && /^https?:\/\/\S+$/i.test(href);
    this.#link = this.#links && isWhole ? href : "";
    this.#linkText = "";
  }

  #closeLink(): void {
    const text = this.#linkText.trim();
    if (this.#link !== "" && text !== "" && text !== this.#link) this.#add(` [${this.#link}]`);
    this.#link = "";
  }

  #add(text: string): void {
    if (text === "") return;
    this.#line += text;
    this.#last = text.at(-1) ?? "";
    if (this.#line.length > MAX_LINE) this.#break();
  }

  #begin(text: string): void {
    this.#line = text;
    this.#last = text.at(-1) ?? "";
  }

  #break(): void {
    const line = this.#line.trimEnd();
    this.#begin("");
    if (line.trim() !== "" && line.trim() !== "-" && !/^#+$/.test(line.trim())) this.#lines.push(line);
  }
}

function isHidden(attributes: Readonly<Record<string, string>>): boolean {
  const { style = "" } = attributes;
  return (
    "hidden" in attributes ||
    attributes["aria-hidden"] === "true" ||
    /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style)
  );
}
