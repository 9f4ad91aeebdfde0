/** What a tool would do, exactly, and the person's say: approve, edit, reject (U05). Then what became of it, by whom. */
import { type ApprovalBlock, toolLabel } from "@turnstream/protocol";
import { type ReactNode, useId, useRef, useState } from "react";
import type { BlockProps } from "../components.ts";
import { useShared } from "../context.ts";
import { usePersonName } from "../hooks/use-names.ts";
import { SafeLink } from "../ui/safe-link.tsx";
import type { CardStrings } from "../strings/strings.ts";
import { ApprovalEdit } from "./approval-edit.tsx";
import { ArgumentList } from "./argument-list.tsx";
import { Card, CardHead, CardProblem, Outcome } from "./card.tsx";
import { ReasonForm } from "./reason-form.tsx";
import { type Approval, useApproval } from "./use-approval-request.ts";
import { FOCUS_KEY, useCardKeys } from "./use-card-keys.ts";

type Mode = "decide" | "edit" | "reject";

export function ApprovalCard({ turn, index }: BlockProps): ReactNode {
  const approval = useApproval(turn, index);
  return approval === null ? null : <Shown approval={approval} />;
}

interface ApprovalProps {
  readonly approval: Approval;
}

function Shown({ approval }: ApprovalProps): ReactNode {
  const { strings, shortcuts } = useShared();
  const { block, isPending: isWaiting, canEdit, isSending } = approval;
  const who = usePersonName(block.by);
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
    // What had the focus goes away.
    card.current?.focus();
  };
  return (
    <Card
      kind="approval"
      labelledBy={id}
      isWaiting={isWaiting}
      cardRef={card}
      {...(shortcuts && isWaiting ? { keys: FOCUS_KEY.toUpperCase() } : {})}
    >
      <CardHead id={id} title={titleOf(block, strings.cards)} deadline={isWaiting ? block.deadline : null} />
      {!(isWaiting && mode === "edit") && <Actions approval={approval} />}
      {isWaiting ? (
        <Deciding approval={approval} mode={mode} onMode={setMode} onBack={back} />
      ) : (
        <Outcome
          isGood={block.status === "approved" || block.status === "edited"}
          mark="allowed"
          words={outcomeOf(block, strings.cards, who)}
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

function Deciding({ approval, mode, onMode, onBack }: DecidingProps): ReactNode {
  const { strings, shortcuts } = useShared();
  const words = strings.cards;
  const { isSending, reject, problem } = approval;
  return (
    <>
      {mode === "decide" && <Buttons approval={approval} onMode={onMode} />}
      {mode === "edit" && <ApprovalEdit approval={approval} onCancel={onBack} />}
      {mode === "reject" && (
        <ReasonForm action={words.confirmReject} isSending={isSending} onSend={reject} onCancel={onBack} />
      )}
      <CardProblem problem={problem} />
      {shortcuts && <span className="ts-sr">{words.approvalKeys}</span>}
    </>
  );
}

function Buttons({ approval, onMode }: Pick<DecidingProps, "approval" | "onMode">): ReactNode {
  const words = useShared().strings.cards;
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
        {isSending ? words.sending : words.approve}
      </button>
      {canEdit && (
        <button
          type="button"
          className="ts-button"
          data-action="edit"
          disabled={isSending}
          onClick={() => onMode("edit")}
        >
          {words.edit}
        </button>
      )}
      <button
        type="button"
        className="ts-button"
        data-action="reject"
        disabled={isSending}
        onClick={() => onMode("reject")}
      >
        {words.reject}
      </button>
      {block.offers_always && (
        <button
          type="button"
          className="ts-button ts-always"
          disabled={isSending}
          onClick={approval.approveAlways}
        >
          {words.approveAlways}
        </button>
      )}
    </div>
  );
}

function Actions({ approval }: ApprovalProps): ReactNode {
  const { actions, whole } = approval;
  const words = useShared().strings.thread;
  return actions.map((action, n) => (
    // Actions have no id, and never change their order.
    <div key={n} className="ts-action">
      {actions.length > 1 && <strong>{toolLabel({ label: "", ...action })}</strong>}
      <ArgumentList input={action.input} />
      {whole?.url !== undefined && (
        <SafeLink address={whole.url} className="ts-link ts-small">
          {words.showWhole}
        </SafeLink>
      )}
    </div>
  ));
}

function titleOf({ actions }: ApprovalBlock, words: CardStrings): string {
  return words.approvalTitle(actions.map((action) => toolLabel({ label: "", ...action })).join(", "));
}

function outcomeOf({ status, always }: ApprovalBlock, words: CardStrings, who: string): string {
  switch (status) {
    case "approved":
      return always ? `${words.approved(who)}, ${words.approvedForGood}` : words.approved(who);
    case "edited":
      return words.edited(who);
    case "rejected":
      return words.rejected(who);
    case "timed_out":
      return words.timedOut;
    default:
      return words.withdrawn;
  }
}
