/**
 * Takes pictures of 24 states, light and dark, wide and on a phone, and puts those of one variant on one contact sheet:
 * `npm run gallery:sheets -- [folder]` writes both to `.artefacts/sheets/`. A change of the look is reviewed with two
 * sets of sheets, from before and after it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { ARTEFACTS, readStates, takePicture, withStage } from "./take-picture.ts";

/** The states that show every kind of content once. */
const STATES = (
  "chat/new chat/conversation text/headings text/code text/table message/long message/files thinking/streaming " +
  "tool/opened group/running-3 group/failure-opened sub-agent/running approval/pending approval/editing " +
  "approval/edited question/several form/fields form/errors payment/pending artifact/chart-line artifact/table " +
  "citation/opened notice/error-retry composer/attachments"
).split(" ");

interface Screen {
  readonly width: number;
  /** Pictures side by side on a sheet. */
  readonly columns: number;
  readonly options: BrowserContextOptions;
}

/** The pointer of a phone is coarse, so its controls are larger. */
const SCREENS: Readonly<Record<"wide" | "phone", Screen>> = {
  wide: { width: 1100, columns: 4, options: {} },
  phone: { width: 390, columns: 8, options: { isMobile: true, hasTouch: true } },
};
const SHEET_WIDTH = 2400;

interface Taken {
  readonly state: string;
  readonly file: string;
}

const folder = process.argv[2] ?? join(ARTEFACTS, "sheets");
await withStage(async ({ browser, open }) => {
  for (const [screen, { width, columns, options }] of Object.entries(SCREENS))
    for (const theme of ["light", "dark"] as const) {
      const page = await open(options);
      const known = await readStates(page);
      const unknown = STATES.filter((state) => !known.includes(state));
      if (unknown.length > 0) throw new Error(`The gallery has no state ${unknown.join(", ")}.`);
      const taken: Taken[] = [];
      for (const state of STATES) {
        const file = join(folder, `${screen}-${theme}`, `${state.replace("/", "-")}.png`);
        await takePicture(page, { file, state, theme, width });
        taken.push({ state, file });
      }
      await page.close();
      await writeSheet(browser, join(folder, `${screen}-${theme}.png`), taken, columns);
    }
});
console.log(`The sheets are in ${folder}.`);

async function writeSheet(browser: Browser, file: string, taken: readonly Taken[], columns: number) {
  const page = await browser.newPage({ viewport: { width: SHEET_WIDTH, height: 900 } });
  const cells = taken.map(({ state, file: picture }) => {
    const bytes = readFileSync(picture).toString("base64");
    return `<figure><figcaption>${state}</figcaption><img src="data:image/png;base64,${bytes}"></figure>`;
  });
  await page.setContent(
    `<!doctype html><style>
      body { columns: ${columns}; column-gap: 16px; margin: 16px; background: #8a8782; font: 13px monospace; }
      figure { margin: 0 0 16px; break-inside: avoid; }
      figcaption { padding: 2px 0; }
      img { display: block; width: 100%; }
    </style>${cells.join("")}`,
  );
  writeFileSync(file, await page.screenshot({ fullPage: true }));
  await page.close();
}
