/**
 * `askInPage` writes a message in Chromium and waits for the answer. `measureChange` changes the agent's file and
 * returns after how many seconds a message gets an answer of the changed agent.
 * Invariant: both know only the address and the files of an app, as its user does.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient, type Session, signIn } from "@turnstream/client";
import { listBlocks } from "@turnstream/protocol";
import { until } from "@turnstream/testkit/util/until.ts";
import type { Browser } from "playwright-core";

const ANSWER_MS = 90_000;

export async function askInPage(browser: Browser, url: string, expected: RegExp): Promise<void> {
  const page = await browser.newPage();
  const lines: string[] = [];
  page.on("console", (message) => lines.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => lines.push(`thrown: ${error.message}`));
  page.setDefaultTimeout(ANSWER_MS);
  try {
    await page.goto(url);
    const composer = page.locator(".ts-composer textarea");
    await composer.fill("Hello");
    await composer.press("Enter");
    await page.locator(".ts-text").getByText(expected).waitFor();
  } catch (error) {
    const shown = await page.locator("body").innerText({ timeout: 5_000 }).catch(String);
    throw new Error(`${String(error)}\nThe page shows: ${shown}\n${lines.join("\n")}`, { cause: error });
  } finally {
    await page.close();
  }
}

const AGENT_FILES = ["agent.ts", "src/agent.ts", "lib/agent.ts", "app/agent.ts"];
const CHANGED = "This is the changed agent.";
const EVERY_MS = 100;

/** Asks again and again, because only the answer shows which agent gave it. */
export async function measureChange(folder: string, url: string): Promise<number> {
  const client = createClient({ url, auth: () => signIn(url) });
  const sessions: Session[] = [];
  const stops: (() => void)[] = [];
  const changedAt = performance.now();
  let answeredAt: number | null = null;
  changeAgent(folder);
  const ask = async (): Promise<void> => {
    const session = client.session((await client.createSession()).id);
    sessions.push(session);
    stops.push(
      session.subscribe(() => {
        if (readAnswer(session) === CHANGED) answeredAt ??= performance.now();
      }),
    );
    session.send({ text: "Hello" });
  };
  await until(
    "an answer of the changed agent",
    async () => {
      if (answeredAt === null) await ask();
      return answeredAt !== null;
    },
    { timeoutMs: 30_000, everyMs: EVERY_MS },
  ).finally(() => {
    stops.forEach((stop) => stop());
    // An open client reconnects forever and keeps this process alive.
    client.close();
  });
  return ((answeredAt ?? 0) - changedAt) / 1_000;
}

function changeAgent(folder: string): void {
  const file = AGENT_FILES.map((name) => join(folder, name)).find((path) => existsSync(path));
  if (file === undefined) throw new Error(`${folder} has none of ${AGENT_FILES.join(", ")}`);
  const code = readFileSync(file, "utf8");
  const changed = code.replace(/model: .*,/, `model: scriptedModel([[script.text("${CHANGED}")]]),`);
  if (changed === code) throw new Error(`${file} has no model to replace`);
  const line = `import { script, scriptedModel } from "@turnstream/server/testing";\n`;
  writeFileSync(file, code.includes(line) ? changed : line + changed);
}

function readAnswer(session: Session): string {
  const turn = session.getSnapshot().state.turns.last();
  const blocks = turn === undefined ? [] : listBlocks(turn);
  return blocks.flatMap((block) => (block.kind === "text" ? [block.text] : [])).join("");
}
