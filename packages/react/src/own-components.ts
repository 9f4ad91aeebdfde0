/**
 * `ToolComponents` and `ArtifactComponents` are an app's components for single tools and types of artifacts, by name.
 * `findOwn` finds one.
 * Invariant: a name of the log is looked up only among the record's own keys, because a tool can be called
 * `constructor`. The types of `ToolProps` come from the server, but the data of an old turn comes from an old release.
 */
import type { Artifact, Json, ToolStatus, ToolTypes } from "@turnstream/protocol";
import type { ReactNode } from "react";

/** The arguments while they stream: any part can be missing. */
type StreamedInput<T> = T extends readonly (infer Item)[]
  ? readonly StreamedInput<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]?: StreamedInput<T[Name]> }
    : T;

/** The props of a component for one tool: `ToolProps<ToolsOf<typeof agent>["place_order"]>`. */
export interface ToolProps<Types extends ToolTypes = ToolTypes> {
  readonly turnId: string;
  readonly blockIndex: number;
  /** What the call does, for users. */
  readonly label: string;
  /** pending: it runs or waits. done, error: it has ended. stopped: it never ended. */
  readonly status: ToolStatus;
  /** The arguments as far as they have streamed, or as the user edited them. */
  readonly input: StreamedInput<Types["input"]> | null;
  /** The data of the result; null before the end, and if the tool publishes none with its option `output`. */
  readonly output: Types["output"] | null;
  /** The text of the result or the error. */
  readonly resultText: string | null;
  /** The line that shows the call by default, with its arguments and its result. */
  readonly children: ReactNode;
}

/** A component of any tool or type, whose props can be narrower: TypeScript compares those of a method both ways. */
interface AnyComponents<Props> {
  readonly [name: string]: { draw(props: Props): ReactNode }["draw"] | undefined;
}

/** Function components by the name of a tool. With `ToolsOf`, a wrong name or field is a type error. */
export type ToolComponents<Tools = unknown> = unknown extends Tools
  ? AnyComponents<ToolProps>
  : {
      readonly [Name in keyof Tools]?: (
        props: ToolProps<Tools[Name] extends ToolTypes ? Tools[Name] : ToolTypes>,
      ) => ReactNode;
    };

/** The props of a component for one type of artifact. */
export interface ArtifactTypeProps<Data = Json> {
  readonly artifact: Artifact;
  /** The data as the tool wrote it. Only that of the built-in types is checked. */
  readonly data: Data;
  /** "" without a title. */
  readonly title: string;
}

/** Components by the type of an artifact. */
export type ArtifactComponents = AnyComponents<ArtifactTypeProps<unknown>>;

export function findOwn<T>(components: Readonly<Record<string, T | undefined>>, name: string): T | undefined {
  return Object.hasOwn(components, name) ? components[name] : undefined;
}
