/** Tests `createApprovalStore`, as a page without React uses it. */
import type { ApprovalBlock, Json } from "@turnstream/protocol";
import { expect, test, vi } from "vitest";
import type { Session } from "../../src/session/session.ts";
import { createApprovalStore } from "../../src/view/approval-store.ts";

type Options = Partial<Pick<ApprovalBlock, "digest" | "editable">>;

function request(inputs: readonly Json[], { digest = "d", editable = true }: Options = {}) {
  const decideApproval = vi.fn<Session["decideApproval"]>();
  const actions = inputs.map((input) => ({ name: "place_order", input }));
  const block = { kind: "approval", key: "k", digest, editable, actions } as unknown as ApprovalBlock;
  return { store: createApprovalStore({ decideApproval }, block), decideApproval };
}

test("every decision carries the digest of the request", async () => {
  const { store, decideApproval } = request([{ quantity: 100 }]);
  await store.approve();
  await store.approveAlways();
  await store.edit({ quantity: 50 });
  await store.reject("too many");
  await store.reject();
  expect(decideApproval.mock.calls.map(([key, decision]) => [key, decision])).toEqual([
    ["k", { decision: "approve", digest: "d" }],
    ["k", { decision: "approve", always: true, digest: "d" }],
    ["k", { decision: "edit", args: { quantity: 50 }, digest: "d" }],
    ["k", { decision: "reject", reason: "too many", digest: "d" }],
    ["k", { decision: "reject", digest: "d" }],
  ]);
});

test("a request without a digest is decided without one", async () => {
  const { store, decideApproval } = request([{}], { digest: null });
  await store.approve();
  expect(decideApproval).toHaveBeenCalledExactlyOnceWith("k", { decision: "approve" });
});

test("arguments that are too long to show can be approved only after the user opened them", async () => {
  const { store, decideApproval } = request(['{"text":"a long st']);
  const seen: boolean[] = [];
  store.subscribe(({ mustOpen }) => seen.push(mustOpen));
  await store.approve();
  await store.approveAlways();
  expect(decideApproval).not.toHaveBeenCalled();
  store.markOpened();
  expect(seen).toEqual([true, false]);
  await store.approve();
  expect(decideApproval).toHaveBeenCalledOnce();
});

test("only an editable request with exactly one action can be edited", () => {
  expect(request([{ quantity: 100 }]).store).toMatchObject({
    canEdit: true,
    editFields: [{ name: "quantity", type: "number", text: "100" }],
  });
  for (const { store } of [request([{}, {}]), request([{ quantity: 100 }], { editable: false })])
    expect(store).toMatchObject({ canEdit: false, editFields: null });
});

test("arguments that are no plain fields have none to edit", () => {
  expect(request(['{"text":"a long st']).store.editFields).toBe(null);
});
