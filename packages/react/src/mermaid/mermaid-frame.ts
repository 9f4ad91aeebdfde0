/**
 * `createMermaidFrame` draws diagrams in a sandboxed frame and returns them as SVG text.
 *
 * Invariant: the frame has an origin of its own and can't reach the page, its cookies or its storage. Its content
 * security policy allows one script and no requests. A diagram that takes too long ends with its frame, so it can't
 * block those after it. The frame exists only while it has work, and some time after.
 */
/** Mermaid has 1.6 MB, which a slow connection needs time for. */
const LOAD_TIMEOUT_MS = 60_000;
const DRAW_TIMEOUT_MS = 10_000;
const IDLE_MS = 30_000;
/** Longer pictures would slow down the page. */
const MAX_SVG_CHARS = 1_000_000;

export interface MermaidFrame {
  /** Rejects if the diagram has an error, takes too long or is too large. */
  readonly draw: (text: string, theme: "dark" | "neutral") => Promise<string>;
}

interface Reply {
  readonly svg?: string;
  readonly error?: string;
}

/** Runs in the frame. The page sends a port with each diagram, and gets the reply there. */
const RUNNER = `addEventListener("message", async ({ data: { id, text, theme }, ports: [port] }) => {
  try {
    mermaid.initialize({
      startOnLoad: false, securityLevel: "strict", suppressErrorRendering: true, theme,
      htmlLabels: false, flowchart: { htmlLabels: false }, fontFamily: "system-ui, sans-serif",
      maxTextSize: 20000, maxEdges: 500,
    });
    port.postMessage({ svg: (await mermaid.render(id, text)).svg });
  } catch (error) {
    port.postMessage({ error: String(error) });
  }
});`;

export function createMermaidFrame(url: string): MermaidFrame {
  let frame: HTMLIFrameElement | null = null;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let count = 0;
  const close = (): void => {
    frame?.remove();
    frame = null;
  };
  const run = async (text: string, theme: string): Promise<string> => {
    clearTimeout(idle);
    try {
      frame ??= await openFrame(url);
      return await ask(frame, { id: `diagram-${count++}`, text, theme });
    } catch (error) {
      close();
      throw error;
    } finally {
      idle = setTimeout(close, IDLE_MS);
    }
  };
  return {
    async draw(text, theme) {
      // One at a time, because Mermaid keeps state between diagrams.
      const drawn = last.then(() => run(text, theme));
      last = drawn.catch(() => {});
      return await drawn;
    },
  };
}

async function openFrame(url: string): Promise<HTMLIFrameElement> {
  const frame = document.createElement("iframe");
  const nonce = crypto.randomUUID();
  const script = new URL(url, document.baseURI).href.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'unsafe-inline'`;
  frame.setAttribute("sandbox", "allow-scripts");
  frame.srcdoc =
    `<!doctype html><meta http-equiv="Content-Security-Policy" content="${policy}">` +
    `<body><script nonce="${nonce}" src="${script}"></script><script nonce="${nonce}">${RUNNER}</script>`;
  frame.title = "";
  frame.tabIndex = -1;
  frame.ariaHidden = "true";
  // Not `display: none`, because Mermaid measures the size of texts.
  frame.style.cssText =
    "position:fixed;inset-inline-start:-4000px;inset-block-start:0;inline-size:1200px;block-size:1200px;border:0;visibility:hidden";
  const loaded = new Promise<void>((resolve) =>
    frame.addEventListener("load", () => resolve(), { once: true }),
  );
  document.body.append(frame);
  await withTimeout(loaded, LOAD_TIMEOUT_MS, "Mermaid can't be loaded.");
  return frame;
}

async function ask(
  frame: HTMLIFrameElement,
  message: { readonly id: string; readonly text: string; readonly theme: string },
): Promise<string> {
  const { port1, port2 } = new MessageChannel();
  const replied = new Promise<Reply>((resolve) => {
    port1.addEventListener("message", ({ data }) => resolve(data as Reply), { once: true });
    port1.start();
  });
  // The origin of the frame is opaque, so no other target can be named.
  frame.contentWindow?.postMessage(message, "*", [port2]);
  try {
    const { svg, error } = await withTimeout(replied, DRAW_TIMEOUT_MS, "The diagram takes too long.");
    if (typeof svg !== "string" || svg.length > MAX_SVG_CHARS)
      throw new Error(typeof error === "string" ? error : "The diagram is too large.");
    return svg;
  } finally {
    port1.close();
  }
}

async function withTimeout<Value>(value: Promise<Value>, ms: number, message: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}
