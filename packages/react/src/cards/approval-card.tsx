/**
 * `ApprovalCard` shows exactly what a tool would do and lets the user approve, edit or reject it (requirement U05).
 * Afterwards it shows the decision and who made it.
 * Invariant: the tool's own name, its server and the arguments are visible while the user decides. A server's title is
 * marked as the server's text. Truncated arguments must be opened before they can be approved. `useApprovalRequest`
 * sends every decision, and none while another is being sent. Shortcuts work only in the card itself.
 */
import { type ApprovalAction, type ApprovalBlock, toolLabel } from "@turnstream/protocol";
import { type ReactNode, useId, useRef, useState } from "react";
import type { BlockProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { useUserName } from "../hooks/use-names.ts";
import { SafeLink } from "../ui/safe-link.tsx";
import type { CardStrings } from "../strings/cards.ts";
import { visibleText } from "../visible-text.ts";
import { ApprovalEdit } from "./approval-edit.tsx";
import { ArgumentList } from "./argument-list.tsx";
import { Card, CardHead, CardProblem, Outcome, ReasonForm } from "./card.tsx";
import { type ApprovalRequest, useApprovalRequest } from "./use-approval-request.ts";
import { FOCUS_KEY, useCardKeys } from "./use-card-keys.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "../ui/button.tsx";

type Mode = "decide" | "edit" | "reject";

export function ApprovalCard({ turnId, blockIndex }: BlockProps): ReactNode {
  const approval = useApprovalRequest(turnId, blockIndex);
  return approval === null ? null : <ApprovalContent approval={approval} />;
}

interface ApprovalProps {
  readonly approval: ApprovalRequest;
}

function ApprovalContent({ approval }: ApprovalProps): ReactNode {
  const { shortcuts } = useThreadContext();
  const strings = useCardStrings();
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
      <Actions approval={approval} isEditing={isWaiting && mode === "edit"} />
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
  const { shortcuts } = useThreadContext();
  const strings = useCardStrings();
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
  const cardStrings = useCardStrings().cards;
  const { block, canEdit, isSending, mustOpen } = approval;
  return (
    <div className="ts-row">
      <Button
        className="ts-button ts-primary"
        data-action="approve"
        disabled={isSending || mustOpen}
        onClick={approval.approve}
      >
        {isSending ? cardStrings.sending : cardStrings.approve}
      </Button>
      {canEdit && (
        <Button data-action="edit" disabled={isSending} onClick={() => onMode("edit")}>
          {cardStrings.edit}
        </Button>
      )}
      <Button data-action="reject" disabled={isSending} onClick={() => onMode("reject")}>
        {cardStrings.reject}
      </Button>
      {block.offers_always && (
        <Button
          className="ts-button ts-always"
          disabled={isSending || mustOpen}
          onClick={approval.approveAlways}
        >
          {cardStrings.approveAlways}
        </Button>
      )}
    </div>
  );
}

function Actions({ approval, isEditing }: ApprovalProps & { readonly isEditing: boolean }): ReactNode {
  const { actions } = approval;
  return actions.map((action, n) => (
    // Actions have no id, and their order never changes.
    <div key={n} className="ts-action">
      {actions.length > 1 && <strong>{visibleText(toolLabel({ label: "", ...action }))}</strong>}
      <Origin action={action} />
      {!isEditing && <Arguments approval={approval} action={action} />}
    </div>
  ));
}

/** The name and the server always stand here, because a label or title can claim something else. */
function Origin({ action }: { readonly action: ApprovalAction }): ReactNode {
  const { name, server, title } = action;
  const strings = useCardStrings().approvals;
  return (
    <p className="ts-origin">
      <bdi data-origin="tool">{strings.tool(visibleText(name))}</bdi>
      {server !== undefined && (
        <>
          {" · "}
          <bdi data-origin="server">{strings.server(visibleText(server))}</bdi>
        </>
      )}
      {title !== undefined && <bdi data-origin="title">{strings.title(visibleText(title))}</bdi>}
    </p>
  );
}

function Arguments({ approval, action }: ApprovalProps & { readonly action: ApprovalAction }): ReactNode {
  const { fullContent, fullInput, mustOpen, markOpened, isPending } = approval;
  const { showAll } = useCardStrings().thread;
  const strings = useCardStrings().approvals;
  if (typeof action.input !== "string") return <ArgumentList input={action.input} fields={action.fields} />;
  const address = fullContent?.url;
  const isShown = address === undefined && !mustOpen && fullInput !== null;
  const canOpen = address !== undefined || fullInput !== null;
  return (
    <>
      <ArgumentList input={isShown ? fullInput : action.input} />
      {address !== undefined && (
        // The link may ask first, so only a press of the link itself counts.
        <span onClick={({ target }) => target instanceof Element && target.closest("a") && markOpened()}>
          <SafeLink address={address} className="ts-link ts-small">
            {showAll}
          </SafeLink>
        </span>
      )}
      {address === undefined && fullInput !== null && mustOpen && (
        <Button data-action="open" onClick={markOpened}>
          {showAll}
        </Button>
      )}
      {isPending && mustOpen && (
        <p className="ts-card-text">{canOpen ? strings.openFirst : strings.unavailable}</p>
      )}
    </>
  );
}

function formatTitle({ actions }: ApprovalBlock, cardStrings: CardStrings["cards"]): string {
  return cardStrings.approvalTitle(actions.map((action) => toolLabel({ label: "", ...action })).join(", "));
}

function formatOutcome(
  { status, always }: ApprovalBlock,
  cardStrings: CardStrings["cards"],
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
