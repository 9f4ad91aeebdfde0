/**
 * `ApprovalCard` shows exactly what a tool would do and lets the user approve, edit or reject it (requirement U05).
 * Afterwards it shows the decision and who made it.
 * Invariant: the arguments are visible while the user decides, and `useApprovalRequest` sends every decision. No
 * decision can be sent while another is being sent. Shortcuts work only in the card itself.
 */
import { type ApprovalBlock, toolLabel } from "@turnstream/protocol";
import { type ReactNode, useId, useRef, useState } from "react";
import type { BlockProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { useUserName } from "../hooks/use-names.ts";
import { SafeLink } from "../ui/safe-link.tsx";
import type { CardStrings } from "../strings/strings.ts";
import { ApprovalEdit } from "./approval-edit.tsx";
import { ArgumentList } from "./argument-list.tsx";
import { Card, CardHead, CardProblem, Outcome } from "./card.tsx";
import { ReasonForm } from "./reason-form.tsx";
import { type ApprovalRequest, useApprovalRequest } from "./use-approval-request.ts";
import { FOCUS_KEY, useCardKeys } from "./use-card-keys.ts";

type Mode = "decide" | "edit" | "reject";

export function ApprovalCard({ turnId, blockIndex }: BlockProps): ReactNode {
  const approval = useApprovalRequest(turnId, blockIndex);
  return approval === null ? null : <ApprovalContent approval={approval} />;
}

interface ApprovalProps {
  readonly approval: ApprovalRequest;
}

function ApprovalContent({ approval }: ApprovalProps): ReactNode {
  const { strings, shortcuts } = useThreadContext();
  const { block, isPending: isWaiting, canEdit, isSending } = approval;
  const userName = useUserName(block.by);
  const card = useRef<HTMLElement>(null);
  const [mode, setMode] = useState<Mode>("decide");
  const id = useId();
  const canAct = !isSending && mode === "decide";
  useCardKeys(card, isWaiting, {
    y: () => canAct && approval.approve(),
    e: () => canAct && canEdit && setMode("edit"),
    n: () => canAct && setMode("reject"),
  });
  const back = (): void => {
    setMode("decide");
    // The focused element disappears, so focus the card.
    card.current?.focus();
  };
  return (
    <Card
      kind="approval"
      labelledBy={id}
      isPending={isWaiting}
      cardRef={card}
      {...(shortcuts && isWaiting ? { keys: FOCUS_KEY.toUpperCase() } : {})}
    >
      <CardHead
        id={id}
        title={formatTitle(block, strings.cards)}
        deadline={isWaiting ? block.deadline : null}
      />
      {!(isWaiting && mode === "edit") && <Actions approval={approval} />}
      {isWaiting ? (
        <PendingApproval approval={approval} mode={mode} onMode={setMode} onBack={back} />
      ) : (
        <Outcome
          isPositive={block.status === "approved" || block.status === "edited"}
          mark="allowed"
          text={formatOutcome(block, strings.cards, userName)}
          reason={block.reason}
        />
      )}
    </Card>
  );
}

interface DecidingProps extends ApprovalProps {
  readonly mode: Mode;
  readonly onMode: (mode: Mode) => void;
  readonly onBack: () => void;
}

function PendingApproval({ approval, mode, onMode, onBack }: DecidingProps): ReactNode {
  const { strings, shortcuts } = useThreadContext();
  const cardStrings = strings.cards;
  const { isSending, reject, problem } = approval;
  return (
    <>
      {mode === "decide" && <Buttons approval={approval} onMode={onMode} />}
      {mode === "edit" && <ApprovalEdit approval={approval} onCancel={onBack} />}
      {mode === "reject" && (
        <ReasonForm
          action={cardStrings.confirmReject}
          isSending={isSending}
          onSend={reject}
          onCancel={onBack}
        />
      )}
      <CardProblem problem={problem} />
      {shortcuts && <span className="ts-sr">{cardStrings.approvalKeys}</span>}
    </>
  );
}

function Buttons({ approval, onMode }: Pick<DecidingProps, "approval" | "onMode">): ReactNode {
  const cardStrings = useThreadContext().strings.cards;
  const { block, canEdit, isSending } = approval;
  return (
    <div className="ts-row">
      <button
        type="button"
        className="ts-button ts-primary"
        data-action="approve"
        disabled={isSending}
        onClick={approval.approve}
      >
        {isSending ? cardStrings.sending : cardStrings.approve}
      </button>
      {canEdit && (
        <button
          type="button"
          className="ts-button"
          data-action="edit"
          disabled={isSending}
          onClick={() => onMode("edit")}
        >
          {cardStrings.edit}
        </button>
      )}
      <button
        type="button"
        className="ts-button"
        data-action="reject"
        disabled={isSending}
        onClick={() => onMode("reject")}
      >
        {cardStrings.reject}
      </button>
      {block.offers_always && (
        <button
          type="button"
          className="ts-button ts-always"
          disabled={isSending}
          onClick={approval.approveAlways}
        >
          {cardStrings.approveAlways}
        </button>
      )}
    </div>
  );
}

function Actions({ approval }: ApprovalProps): ReactNode {
  const { actions, fullContent } = approval;
  const cardStrings = useThreadContext().strings.thread;
  return actions.map((action, n) => (
    // Actions have no id, and their order never changes.
    <div key={n} className="ts-action">
      {actions.length > 1 && <strong>{toolLabel({ label: "", ...action })}</strong>}
      <ArgumentList input={action.input} />
      {fullContent?.url !== undefined && (
        <SafeLink address={fullContent.url} className="ts-link ts-small">
          {cardStrings.showAll}
        </SafeLink>
      )}
    </div>
  ));
}

function formatTitle({ actions }: ApprovalBlock, cardStrings: CardStrings): string {
  return cardStrings.approvalTitle(actions.map((action) => toolLabel({ label: "", ...action })).join(", "));
}

function formatOutcome(
  { status, always }: ApprovalBlock,
  cardStrings: CardStrings,
  userName: string,
): string {
  switch (status) {
    case "approved":
      return always
        ? `${cardStrings.approved(userName)}, ${cardStrings.approvedForGood}`
        : cardStrings.approved(userName);
    case "edited":
      return cardStrings.edited(userName);
    case "rejected":
      return cardStrings.rejected(userName);
    case "timed_out":
      return cardStrings.timedOut;
    default:
      return cardStrings.withdrawn;
  }
}
