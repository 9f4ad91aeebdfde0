/**
 * `Artifact` shows an artifact of a result: with the app's component for its type, or as a chart, table, file, image or
 * code, or as the JSON of a custom type, after a click.
 * Invariant: data is drawn only after `findArtifactProblem` has accepted it. Otherwise only the title and the link to
 * the full content are shown. Links and images follow the link policy.
 */
import {
  findArtifactProblem,
  type Artifact as ArtifactValue,
  type ArtifactData,
  type Json,
} from "@turnstream/protocol";
import { type ReactNode, useState } from "react";
import type { ArtifactProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { formatSize } from "../format.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icons.tsx";
import { visibleText } from "../visible-text.ts";
import { ArtifactFrame } from "./artifact-frame.tsx";
import { ChartArtifact } from "./chart-artifact.tsx";
import { CodeBlock } from "../ui/code-block.tsx";
import { Fence } from "./fence.tsx";
import { SafeImage } from "../ui/safe-image.tsx";
import { findOwn } from "../own-components.ts";
import { SafeLink } from "../ui/safe-link.tsx";
import { TableArtifact } from "./table-artifact.tsx";
import { useCardStrings } from "../hooks/use-card-strings.ts";

export function Artifact({ artifact }: ArtifactProps): ReactNode {
  const { artifacts } = useThreadContext();
  const strings = useCardStrings();
  const { type, title = "", data, whole: fullUrl } = artifact;
  const url = fullUrl?.url ?? "";
  const problem = data === null ? null : findArtifactProblem({ type, data });
  if (data === null || problem !== null) {
    return (
      <ArtifactFrame title={title} fallback={strings.cards.file} fullUrl={url}>
        {url === "" && <p className="ts-faint">{strings.cards.cannotShow}</p>}
      </ArtifactFrame>
    );
  }
  const Own = findOwn(artifacts, type);
  if (Own !== undefined) return <Own artifact={artifact} data={data} title={title} />;
  return <KnownArtifact artifact={artifact} title={title} fullUrl={url} />;
}

interface KnownArtifactProps {
  readonly artifact: ArtifactValue;
  readonly title: string;
  readonly fullUrl: string;
}

/** `findArtifactProblem` has checked that the data matches the type. */
function KnownArtifact({ artifact: { type, data }, title, fullUrl }: KnownArtifactProps): ReactNode {
  const cardStrings = useCardStrings().cards;
  const known = data as unknown;
  switch (type) {
    case "chart":
      return <ChartArtifact title={title} data={known as ArtifactData["chart"]} fullUrl={fullUrl} />;
    case "table":
      return <TableArtifact title={title} data={known as ArtifactData["table"]} fullUrl={fullUrl} />;
    case "file":
      return <FileArtifact title={title} data={known as ArtifactData["file"]} />;
    case "image": {
      const { url, alt = "", width, height } = known as ArtifactData["image"];
      return (
        <ArtifactFrame title={title} fallback={cardStrings.image} fullUrl={fullUrl}>
          <SafeImage
            address={url}
            alt={alt || title}
            {...(width === undefined ? {} : { width })}
            {...(height === undefined ? {} : { height })}
          />
        </ArtifactFrame>
      );
    }
    case "code": {
      const { language, code, name = "" } = known as ArtifactData["code"];
      return (
        <ArtifactFrame title={title} fallback="" fullUrl={fullUrl}>
          <Fence
            language={language}
            text={code}
            isComplete
            {...(name === "" ? {} : { name: visibleText(name) })}
          />
        </ArtifactFrame>
      );
    }
    default:
      return (
        <ArtifactFrame title={title} fallback={type} fullUrl={fullUrl}>
          <JsonData data={data} />
        </ArtifactFrame>
      );
  }
}

function FileArtifact({
  title,
  data,
}: {
  readonly title: string;
  readonly data: ArtifactData["file"];
}): ReactNode {
  const strings = useCardStrings();
  const { name, url, size, media_type } = data;
  return (
    <ArtifactFrame title={title === name ? "" : title} fallback="" fullUrl="">
      <div className="ts-file">
        <Icon name="file" />
        <span className="ts-file-name">
          <bdi>{visibleText(name)}</bdi>
          <span className="ts-faint">
            {[size === undefined ? "" : formatSize(strings, size), visibleText(media_type ?? "")]
              .filter((part) => part !== "")
              .join(" · ")}
          </span>
        </span>
        <SafeLink address={url} className="ts-button">
          {strings.cards.download}
        </SafeLink>
      </div>
    </ArtifactFrame>
  );
}

/** JSON is for developers, so users see it only after a click. */
function JsonData({ data }: { readonly data: Json }): ReactNode {
  const strings = useCardStrings();
  const [isExpanded, setExpanded] = useState(false);
  return (
    <Disclosure
      className="ts-data"
      isExpanded={isExpanded}
      onToggle={() => setExpanded(!isExpanded)}
      head={strings.cards.data}
    >
      <CodeBlock language="json" text={JSON.stringify(data, null, 2)} />
    </Disclosure>
  );
}
