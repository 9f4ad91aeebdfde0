/** Tests the readable text of web pages, valid and hostile. */
import { describe, expect, test } from "vitest";

import { readHtml } from "../src/read-html.ts";

describe("S11: readHtml", () => {
  test("returns headings, paragraphs, lists and tables as lines, and the title", async () => {
    const html = `<!doctype html><html><head><title> A  page </title><style>p{}</style></head><body>
      <nav><a href="/">Home</a></nav>
      <h1>Giá &amp; phí</h1><p>One <b>bold</b>\n word.</p><ul><li>a</li><li>b<br>c</li></ul>
      <table><tr><th>x</th><th>y</th></tr><tr><td>1</td><td>2</td></tr></table>
      <pre>keep\n  this</pre><img src="x" alt="A heron"><footer>Imprint</footer></body></html>`;
    expect(await readHtml(html)).toEqual({
      title: "A page",
      text: "# Giá & phí\n\nOne bold word.\n- a\n- b\nc\n\nx | y\n1 | 2\nkeep\n  this\n[A heron]",
    });
  });

  test("reads a page whose whole content is inside one form", async () => {
    const page = "<body><form><h1>Report</h1><p>Revenue 42</p><input value=no></form></body>";
    expect((await readHtml(page)).text).toBe("# Report\n\nRevenue 42");
  });

  test("omits scripts, form controls and hidden elements", async () => {
    const html = `<p>seen</p><script>alert("x")</script><div style="display: none">no<p>no</p></div>
      <p hidden>no</p><span aria-hidden=true>no</span><template><p>no</p></template><form><button>no</button><textarea>no</textarea></form><svg><text>no</text></svg>
      <p>seen too</p><noscript>no</noscript>`;
    expect((await readHtml(html)).text).toBe("seen\n\nseen too");
  });

  test("adds the addresses of links after their text if `links` is set", async () => {
    const html = `<p>See <a href="https://x.example/a?b=1&amp;c">the  list</a>, <a href="/b">there</a>,
      <a href="javascript:x()">run</a>, <a href="https://y.example/">https://y.example/</a>, <a href="https://z.example/"><img src="z"></a>
      <a href="https://${"l".repeat(3_000)}.example/">long</a>.</p>`;
    const { text } = await readHtml(html, { links: true });
    expect(text).toBe("See the list [https://x.example/a?b=1&c], there, run, https://y.example/, long.");
    expect((await readHtml(html)).text).toBe("See the list, there, run, https://y.example/, long.");
  });

  test("reads malformed and empty pages", async () => {
    expect((await readHtml("</p></div>x</body></body></nav>y")).text).toBe("xy");
    expect((await readHtml("")).text).toBe("");
  });
});
