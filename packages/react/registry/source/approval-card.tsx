"use client";

import { type BlockProps, DEFAULT_COMPONENTS, useApprovalRequest, useStrings } from "@turnstream/react";
import { useState } from "react";
import { Button } from "./ui/button.tsx";

/** An approval that waits for the user. Everything rare is left to the default card: edits, several or long calls. */
export function ApprovalCard(props: BlockProps) {
  const strings = useStrings();
  const approval = useApprovalRequest(props.turnId, props.blockIndex);
  const [isEditing, setEditing] = useState(false);
  const [action] = approval?.actions ?? [];
  if (approval === null || action === undefined) return null;
  const isSimple = approval.isPending && approval.actions.length === 1 && !approval.mustOpen;
  if (isEditing || !isSimple) return <DEFAULT_COMPONENTS.ApprovalCard {...props} />;
  const { isSending } = approval;
  return (
    <section className="bg-card text-card-foreground flex flex-col gap-3 rounded-xl border p-4 shadow-sm">
      <h3 className="text-sm font-semibold">{strings.cards.approvalTitle(visible(action.name))}</h3>
      {action.server !== undefined && (
        <p className="text-muted-foreground text-sm">{visible(action.server)}</p>
      )}
      {/* The user must see exactly what the tool would get. */}
      <pre className="bg-muted overflow-auto rounded-md p-3 text-xs whitespace-pre-wrap">
        {visible(JSON.stringify(action.input, null, 2))}
      </pre>
      <div className="flex flex-wrap gap-2">
        <Button size="sm" disabled={isSending} onClick={approval.approve}>
          {isSending ? strings.cards.sending : strings.cards.approve}
        </Button>
        {approval.canEdit && (
          <Button variant="outline" size="sm" disabled={isSending} onClick={() => setEditing(true)}>
            {strings.cards.edit}
          </Button>
        )}
        <Button variant="outline" size="sm" disabled={isSending} onClick={() => approval.reject()}>
          {strings.cards.reject}
        </Button>
        {approval.block.offers_always && (
          <Button variant="ghost" size="sm" disabled={isSending} onClick={approval.approveAlways}>
            {strings.cards.approveAlways}
          </Button>
        )}
      </div>
      {approval.problem !== null && <p className="text-destructive text-sm">{approval.problem}</p>}
    </section>
  );
}

/** Shows invisible characters, which could hide what a call does. */
function visible(text: string): string {
  return text.replace(
    /[^\P{C}\n]|[\u2028\u2029]/gu,
    (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`,
  );
}
