/**
 * What a story is: one turn, or two around a form, as plain data, that any server can play: what the person asks, what the model answers, what
 * each tool call gives, and what waits for what. Types only; see README.md.
 */

/** A story as its folder's `script.ts` gives it. The frames that it must make stand beside it. */
export interface Story {
  /** The name of its folder. */
  readonly name: string;
  /** Which of the documents it is taken from. */
  readonly source: string;
  readonly ask: string;
  /** What comes with the question. */
  readonly files?: readonly StoryFile[];
  readonly agent: StoryAgent;
  /** What each tool call gives, by the id of the call. */
  readonly outcomes: Readonly<Record<string, Outcome>>;
  /** What the person decides or answers once they are asked, by the moment of the request. */
  readonly choices?: Readonly<Record<Moment, Choice>>;
  /** With a form that ends the turn: what the person does with it. The story then has one more turn. */
  readonly form?: StoryForm;
  /** The person stops the turn at this moment. */
  readonly stopAt?: Moment;
  /**
   * Clients reload at these moments. The turn must not end before they have: whoever plays the story holds the answer back
   * whose text or thought is named, and `after` holds the tools.
   */
  readonly reloadAt: readonly [Moment, Moment, Moment];
}

/** A PDF. Whoever plays the story serves it under an address of their own, and tells `normalise` which. */
interface StoryFile {
  readonly url: string;
  /** The lines of each page. */
  readonly pages: readonly (readonly string[])[];
}

/** What a person does about a request: a decision on a call, or the answers to a question. */
export type Choice =
  | {
      readonly decision: "approve" | "edit" | "reject";
      readonly input?: Readonly<Record<string, string | number>>;
      readonly reason?: string;
    }
  | {
      readonly answers: readonly {
        readonly question: string;
        readonly selected: string[];
        readonly text?: string;
      }[];
    };

export interface StoryForm {
  /** Kept on the server while the person looks away. */
  readonly draft: Values;
  /** Refused first. */
  readonly bad: Values;
  /** Submitted by a call and gone on from by a message, or declined, which begins the next turn by itself. */
  readonly finally: { readonly submit: Values; readonly message: string } | { readonly decline: string };
}

type Values = Readonly<Record<string, string>>;

/**
 * `<type of event> <call>`: the first event of that type in the log that is about the call, or that a sub-agent under the
 * call wrote; `main` instead of a call for what the main agent wrote itself. For example `thinking.end call_1`.
 */
export type Moment = string;

export interface StoryAgent {
  readonly name: string;
  readonly model: string;
  /** For people; of a sub-agent. */
  readonly label?: string;
  /** Whether the session gets a title from the first words of the question. */
  readonly hasTitle?: boolean;
  readonly sharesThoughts?: boolean;
  /** Whether it has the tool that asks the person. */
  readonly asksUser?: boolean;
  /** The tools that a person has to approve, by name. */
  readonly approvals?: Readonly<Record<string, { readonly editable?: boolean; readonly timeoutMs?: number }>>;
  readonly requestsForms?: boolean;
  /** One after the other; each but the last one calls tools. */
  readonly answers: readonly (readonly Part[])[];
  /**
   * The label of each tool, empty for none. `{field}` in it stands for a field of the input.
   */
  readonly tools: Readonly<Record<string, string>>;
  /** Sub-agents, by the name of the tool that calls them. */
  readonly agents?: Readonly<Record<string, StoryAgent>>;
}

export type Part =
  | { readonly think: string }
  | { readonly text: string }
  /** The provider answers with this HTTP status, every time. */
  | { readonly fail: number }
  | { readonly call: string; readonly id: string; readonly input: Readonly<Record<string, unknown>> };

/** What a tool gives; `{field}` in a text stands for a field of the input. With `after` it ends only once that has happened. */
export type Outcome = { readonly after?: Moment } & (
  | {
      readonly gives: string | Readonly<Record<string, unknown>>;
      readonly artifact?: object;
      readonly shows?: Shows;
      /** What was found, so that it can be cited. */
      readonly references?: readonly Found[];
    }
  | { readonly fails: string }
  | { readonly hangs: true }
);

export interface Found {
  /** For the model. */
  readonly content: Readonly<Record<string, unknown>>;
  /** For people. */
  readonly text: string;
  readonly picture: string;
}

/** What people see while the tool works: a text, then pictures, each in the place of the one before. */
interface Shows {
  readonly text: string;
  readonly pictures: readonly string[];
}
