/**
 * `AgentPicker` lets the user choose the agent that answers the next message.
 * Invariant: it shows the agent that the message names, so what the user sees is what answers.
 */
import type { AgentInfo } from "@turnstream/client";
import type { ReactNode } from "react";
import { useThreadContext } from "../context.ts";
import { findName, formatName } from "../hooks/use-names.ts";
import { usePart } from "../parts.tsx";
import { Icon } from "../ui/icons.tsx";
import { useCardStrings } from "../hooks/use-card-strings.ts";

export interface AgentPickerProps {
  readonly agents: readonly AgentInfo[];
  readonly agentId: string;
  readonly isDisabled: boolean;
  readonly onChoose: (agentId: string) => void;
}

export function AgentPicker({ agents, agentId, isDisabled, onChoose }: AgentPickerProps): ReactNode {
  const { agentNames } = useThreadContext();
  const strings = useCardStrings();
  const nameOf = ({ id, label }: AgentInfo): string =>
    findName(agentNames, id) ?? (label || formatName(agentNames, id));
  return (
    <span {...usePart("agent-picker", "ts-agent-picker")}>
      <select
        className="ts-agent-select"
        aria-label={strings.composer.agent}
        value={agentId}
        disabled={isDisabled}
        onChange={(event) => onChoose(event.target.value)}
      >
        {agents.map((agent) => (
          <option key={agent.id} value={agent.id} title={agent.description || undefined}>
            {nameOf(agent)}
          </option>
        ))}
      </select>
      <Icon name="chevron" />
    </span>
  );
}
