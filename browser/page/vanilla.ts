/** A thread without a framework, on `@turnstream/client/view`. The stories are played on it. For parameters, see main.tsx. */
import { createClient } from "@turnstream/client";
import { shareTabs } from "@turnstream/client/tabs";
import * as view from "@turnstream/client/view";
import { type TextBlock, toolLabel, type Turn } from "@turnstream/protocol";
import { exposeSession } from "./expose-session.ts";
import { drawCard } from "./vanilla-cards.ts";
import { button, h } from "./vanilla-elements.ts";

const query = new URLSearchParams(location.search);
const auth = () => ({ token: window.turnstreamToken ?? "" });
const client = createClient({ url: query.get("url") ?? location.origin, auth, tabs: shareTabs });
const session = client.session(query.get("session") ?? "");
const [store, expanded] = [view.createThreadStore(session), view.createExpandedState()];
const mode = (query.get("mode") ?? undefined) as Turn["mode"] | undefined;
const composer = view.createComposerStore({ agentId: query.get("agent") ?? undefined, mode, locale: "en" });
exposeSession(session);

function disclosure(turn: Turn, index: number, byDefault: boolean, head: Node, draw: () => Node[]): Node[] {
  const isExpanded = expanded.get(turn.id, index) ?? byDefault;
  const onclick = () => {
    expanded.set(turn.id, index, !isExpanded);
    drawTurn(turn.id);
  };
  const toggle = h("button", { type: "button", ariaExpanded: String(isExpanded), onclick }, head);
  return [toggle, ...(isExpanded ? draw() : [])];
}

function drawText({ text, annotations, end }: TextBlock): Node {
  const references = [...new Set(annotations.map(({ reference }) => reference))];
  let at = 0;
  const pieces = annotations.flatMap((annotation) => {
    const before = text.slice(at, annotation.start);
    at = annotation.end;
    return [before, h("sup", {}, String(references.indexOf(annotation.reference) + 1))];
  });
  const sources = references.map((_, n) => h("div", {}, `${n + 1} Source ${n + 1}`));
  return h("div.ts-text", {}, h("p", {}, ...pieces, text.slice(at)), ...(end === null ? [] : sources));
}

const TEXTS: Readonly<Record<string, string>> = {
  STOPPED: "You stopped this. Send a new message to continue.",
  LLM_ERROR: "The model could not answer. Try again.",
};

function drawTool(turn: Turn, index: number): Node {
  const item = store.getToolCall(turn.id, index);
  if (item === null) return h("div");
  const { call, run, status, approvals, artifact } = item;
  const label = h("span.ts-tool-label", {}, toolLabel(call));
  const drawRun = () => (run === null ? [] : drawLayout(turn, store.getLayout(turn.id, run.id)));
  const step = h("div.ts-step", {}, ...disclosure(turn, index, status === "pending", label, drawRun));
  step.dataset["dot"] = status;
  step.append(...approvals.map((approval) => drawCard(session, approval)));
  if (artifact !== null)
    step.append(h("figure.ts-artifact", {}, h("figcaption", {}, h("span", {}, artifact.type))));
  return step;
}

function drawLayout(turn: Turn, layout: view.TurnLayout): Node[] {
  return layout.map((entry) => {
    if (entry.type === "group") {
      const draw = () => drawLayout(turn, entry.blocks);
      if (!entry.hasHeader) return h("div.ts-group", {}, ...draw());
      const title = h("span.ts-group-title", {}, entry.header || "Working");
      return h("div.ts-group", {}, ...disclosure(turn, entry.blockIndex, entry.isRunning, title, draw));
    }
    const block = turn.items.get(entry.blockIndex);
    switch (block?.kind) {
      case "text":
        return drawText(block);
      case "thinking": {
        const draw = () => [h("div.ts-thinking-body", {}, block.text)];
        const head = h("span", {}, "Thought");
        return h("div", {}, ...disclosure(turn, block.index, block.end === null, head, draw));
      }
      case "files": {
        const read = block.end === null ? "Reading" : `done Read a file ${block.message}`;
        return h("div.ts-files-head", {}, read);
      }
      case "notice":
        return h(`p.ts-${block.notice}`, {}, h("span", {}, TEXTS[block.template?.code ?? ""] ?? block.text));
      case "approval":
      case "question":
      case "form":
        return drawCard(session, block);
      default:
        return drawTool(turn, entry.blockIndex);
    }
  });
}

function drawMessage({ text, files }: Pick<NonNullable<Turn["message"]>, "text" | "files">): HTMLElement {
  const names = files.map(({ name = "" }) => h("span.ts-chip-name", {}, name));
  return h("div.ts-user", {}, ...(text === "" ? [] : [h("p.ts-bubble", {}, text)]), ...names);
}

const turnElements = new Map<string, HTMLElement>();
function drawTurn(id: string): HTMLElement {
  const element = turnElements.get(id) ?? h("div.ts-turn");
  if (!turnElements.has(id)) store.subscribe(`turn:${id}`, () => drawTurn(id));
  turnElements.set(id, element);
  const turn = store.getTurn(id);
  if (turn === null) return element;
  element.toggleAttribute("data-running", turn.status === "running");
  const message = turn.message === null ? [] : [drawMessage(turn.message)];
  element.replaceChildren(...message, ...drawLayout(turn, store.getLayout(id)));
  return element;
}

function drawThread(): void {
  const { state, outbox, history } = store.getView();
  const turns = store.getTurnIds().map((id) => turnElements.get(id) ?? drawTurn(id));
  const older = history.hasMore ? [button("Show earlier messages", () => session.loadMore())] : [];
  const now = [...older, ...turns, ...[...state.waiting, ...outbox].map(drawMessage)];
  // A field that stays keeps its focus.
  if (!view.isSameList(now, [...content.children])) content.replaceChildren(...now);
  stop.hidden = state.turns.last()?.status !== "running";
}

const content = h("div.ts-turns");
const scroller = h("div", { role: "log", tabIndex: 0, style: "height: 80vh; overflow: auto" }, content);
const [polite, urgent] = [h("div", { ariaLive: "polite" }), h("div", { role: "alert" })];
const field = h("textarea", { ariaLabel: "Message" }) as HTMLTextAreaElement;
const files = h("input", { type: "file", multiple: true }) as HTMLInputElement;
const send = button("Send", () => composer.send(session)) as HTMLButtonElement;
Object.assign(send, { className: "ts-send", disabled: true });
const stop = button("Stop", () => session.stop());
document.body.append(scroller, polite, urgent, h("div.ts-composer", {}, field, files, send, stop));
field.addEventListener("input", () => composer.set({ text: field.value }));
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) event.preventDefault();
  if (event.defaultPrevented) composer.send(session);
});
files.addEventListener("change", () => composer.attach(session, files.files ?? []));
const drawComposer = () => {
  const draft = composer.get();
  if (field.value !== draft.text) field.value = draft.text;
  send.disabled = !view.canSend(draft.text, draft.files);
};
composer.subscribe(drawComposer);
view.watchAnnouncements(store, view.ENGLISH_ANNOUNCEMENTS, (all) => {
  polite.replaceChildren(...all.flatMap(({ text, isUrgent }) => (isUrgent ? [] : h("p", {}, text))));
  urgent.replaceChildren(...all.flatMap(({ text, isUrgent }) => (isUrgent ? h("p", {}, text) : [])));
});
view.stickElementToBottom(scroller, content);
store.subscribe("view", drawThread);
drawThread();
