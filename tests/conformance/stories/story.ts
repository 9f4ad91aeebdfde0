/**
 * The types of a story: one turn, or two around a form, as plain data that any server can play. A story has the
 * question, the answers of the model, the results of the tools, and the order of parallel steps. Types only; see
 * README.md.
 */

/** A story, as exported by `script.ts` in its folder. The frames that it must produce are files in the same folder. */
export interface Story {
  /** The name of its folder. */
  readonly name: string;
  /** The number of the source document, see DIALECTS.md. */
  readonly source: string;
  readonly ask: string;
  /** The files of the message. */
  readonly files?: readonly StoryFile[];
  /** The display mode that the message asks for. Without it, the mode of the agent applies. */
  readonly mode?: "agent" | "chat";
  readonly agent: StoryAgent;
  /** The outcome of each tool call, by the id of the call. */
  readonly outcomes: Readonly<Record<string, Outcome>>;
  /** The decisions and answers of the user, by the moment of the request. */
  readonly choices?: Readonly<Record<Moment, Choice>>;
  /** The user's reaction to a form that ends the turn. The story then has one more turn. */
  readonly form?: StoryForm;
  /** The user stops the turn at this moment. */
  readonly stopAt?: Moment;
  /**
   * Clients reload at these moments, and the turn must not end before. The player of the story delays the model answer
   * whose text or thought is named, and `after` delays tools.
   */
  readonly reloadAt: readonly [Moment, Moment, Moment];
}

/** A PDF or an image. The player of the story serves it at its own URL, and passes that URL to `normalise`. */
export type StoryFile = { readonly url: string } & (
  | {
      /** The lines of each page of a PDF. */
      readonly pages: readonly (readonly string[])[];
    }
  | {
      /** A PNG as base64. */
      readonly image: string;
    }
);

/** The user's reaction to a request: a decision on a call, or the answers to a question. */
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
  /** Saved on the server before the form is submitted or declined. */
  readonly draft: Values;
  /** Invalid values, which the server must reject. */
  readonly bad: Values;
  /** Submitted with a command and continued by a message, or declined, which starts the next turn by itself. */
  readonly finally: { readonly submit: Values; readonly message: string } | { readonly decline: string };
}

type Values = Readonly<Record<string, string>>;

/**
 * `<type of event> <call>`: the first event of that type in the log that belongs to the call, or that a sub-agent under
 * the call wrote. `main` instead of a call means the main agent itself. For example `thinking.end call_1`.
 */
export type Moment = string;

export interface StoryAgent {
  readonly name: string;
  readonly model: string;
  /** The label that users see. Only for a sub-agent. */
  readonly label?: string;
  /** Whether the session gets a title from the start of the question. */
  readonly hasTitle?: boolean;
  readonly sharesThoughts?: boolean;
  /** Whether the agent has the tool that asks the user. */
  readonly asksUser?: boolean;
  /** The tools that need an approval, by name. */
  readonly approvals?: Readonly<Record<string, { readonly editable?: boolean; readonly timeoutMs?: number }>>;
  readonly requestsForms?: boolean;
  /** Whether the model gets the images of messages and results. */
  readonly seesImages?: boolean;
  /** The model answers in order. Each one except the last calls tools. */
  readonly answers: readonly (readonly Part[])[];
  /**
   * The label of each tool, empty for none. `{field}` is replaced by that field of the input.
   */
  readonly tools: Readonly<Record<string, string>>;
  /** Sub-agents, by the name of the tool that calls them. */
  readonly agents?: Readonly<Record<string, StoryAgent>>;
}

export type Part =
  | { readonly think: string }
  | { readonly text: string }
  /** The provider always responds with this HTTP status. */
  | { readonly fail: number }
  | { readonly call: string; readonly id: string; readonly input: Readonly<Record<string, unknown>> };

/** The outcome of a tool. `{field}` in a text is replaced by that field of the input. `after` delays the end. */
export type Outcome = { readonly after?: Moment } & (
  | {
      readonly gives: string | Readonly<Record<string, unknown>>;
      readonly artifact?: object;
      readonly shows?: Shows;
      /** Citable results. */
      readonly references?: readonly Found[];
    }
  | { readonly fails: string }
  | { readonly hangs: true }
);

export interface Found {
  /** The content for the model. */
  readonly content: Readonly<Record<string, unknown>>;
  /** The text for users. */
  readonly text: string;
  readonly picture: string;
}

/** The output while the tool runs: a text, then pictures, each of which replaces the one before. */
interface Shows {
  readonly text: string;
  readonly pictures: readonly string[];
}
