/**
 * `checkHistory` decides whether everything that readers of a log received is a prefix of one list per session, with
 * announced losses only, and whether that list has every acknowledged append exactly once.
 *
 * Invariant: it imports nothing of ours, so that a bug of the log can't hide itself here.
 */

/** One entry of a log, as a reader received it. */
export interface HistoryEntry {
  /** `<epoch>-<seq>`. */
  readonly position: string;
  /** Identifies the append that wrote the entry. */
  readonly key: string;
  /** The content, or a digest of it. */
  readonly body: string;
}

/** What one process did. The operations of a process are in the order in which it did them. */
export type Operation =
  /** A try of an append or claim is about to be sent. A retry has the same key. */
  | {
      readonly type: "write";
      readonly session: string;
      readonly key: string;
      /** It waits for the outcome of one append before it sends the next. */
      readonly writer: string;
      readonly bodies: readonly string[];
      /** Null for a writer that joins any epoch. */
      readonly epoch: number | null;
      readonly isClaim: boolean;
    }
  | {
      readonly type: "acknowledged";
      readonly session: string;
      readonly key: string;
      readonly first: string;
      /** True if the log had the entries from an earlier try. */
      readonly repeated: boolean;
    }
  /** The only try was refused, so the entries must never appear unless the append is sent again. */
  | { readonly type: "refused"; readonly session: string; readonly key: string }
  | {
      readonly type: "follow";
      readonly reader: string;
      readonly session: string;
      /** The position after which the reader continues. */
      readonly after: string;
    }
  | { readonly type: "read"; readonly reader: string; readonly entries: readonly HistoryEntry[] }
  /** The reader was told to reload the state. */
  | { readonly type: "told"; readonly reader: string; readonly reason: string }
  /** The reader stopped reading. */
  | { readonly type: "left"; readonly reader: string }
  /** The process was killed, with all its readers. Their names start with its name and a slash. */
  | { readonly type: "killed"; readonly process: string }
  /** A fault may have lost the entries after `kept`, the end of what was left. At most one for each session. */
  | { readonly type: "loss"; readonly session: string; readonly kept: string }
  /** The whole log in the end, after the position `base`. */
  | {
      readonly type: "final";
      readonly session: string;
      readonly base: string;
      /** The archived position, where the archive may have the end of an epoch that the log has lost. */
      readonly archived?: string;
      readonly entries: readonly HistoryEntry[];
    };

export type FindingKind =
  /** An acknowledged entry is not in the list, and no fault is recorded that may have lost it. */
  | "lost"
  /** Entries of one append are in the list twice. */
  | "doubled"
  /** Only some entries of an append are in the list, or others are between them. */
  | "torn"
  /** A position has two meanings, or an entry another content than its writer sent. */
  | "replaced"
  /** A position is not after the one before, or an append is not after the one before of its writer. */
  | "reordered"
  /** A reader skipped a position. */
  | "gap"
  /** A reader kept or continued after an entry that is not in the list, and was not told. */
  | "stale"
  /** A reader that was not told to reload lacks the end of the list. */
  | "behind"
  /** An entry is in another epoch than its writer's, an epoch begins without its claim, or continues after a loss. */
  | "epoch"
  /** Nobody wrote the entry, or its append was refused. */
  | "unwritten";

interface Finding {
  readonly kind: FindingKind;
  readonly session: string;
  readonly text: string;
}

export interface HistoryReport {
  readonly findings: Finding[];
  sessions: number;
  readers: number;
  /** Entries that readers received. */
  reads: number;
  /** Appends and claims that were acknowledged. */
  acknowledged: number;
  /** Those that were sent more than once. */
  retried: number;
  /** Those that a retry found in the log. */
  repeated: number;
  /** How often a reader was told to reload. */
  told: number;
  /** Readers that received entries which were lost later. */
  sawLost: number;
  /** Acknowledged entries that are not in the list. */
  lost: number;
}

export interface CheckOptions {
  /** Whether entries of a session without a recorded loss may be lost, if every reader of them is told. @default false */
  readonly mayLose?: boolean;
}

interface Position {
  readonly epoch: number;
  readonly seq: number;
}

interface Write extends Extract<Operation, { type: "write" }> {
  /** How many other appends of the session were sent before it. */
  readonly order: number;
  /** What was sent each time. Only a claim that is refused is sent again with another epoch or content. */
  readonly tries: Pick<Extract<Operation, { type: "write" }>, "epoch" | "bodies">[];
  /** Where it was acknowledged: more than once if a failover lost it, and its writer sent it again. */
  readonly firsts: Position[];
  refusals: number;
  isRepeated: boolean;
}

interface Reader extends Extract<Operation, { type: "follow" }> {
  readonly entries: HistoryEntry[];
  end: "told" | "left" | null;
}

interface Session {
  readonly name: string;
  readonly writes: Map<string, Write>;
  readonly readers: Reader[];
  kept: string | null;
  final: Extract<Operation, { type: "final" }> | null;
}

export function checkHistory(
  history: Iterable<Operation>,
  { mayLose = false }: CheckOptions = {},
): Readonly<HistoryReport> {
  const counts = { sessions: 0, readers: 0, reads: 0, acknowledged: 0, retried: 0, repeated: 0 };
  const report: HistoryReport = { findings: [], ...counts, told: 0, sawLost: 0, lost: 0 };
  for (const session of collectSessions(history)) new SessionCheck(session, mayLose, report).run();
  return report;
}

function collectSessions(history: Iterable<Operation>): Session[] {
  const sessions = new Map<string, Session>();
  const readers = new Map<string, Reader>();
  const find = (name: string): Session => {
    const session = sessions.get(name) ?? { name, writes: new Map(), readers: [], kept: null, final: null };
    sessions.set(name, session);
    return session;
  };
  const operations = [...history];
  for (const each of operations) {
    if (each.type === "write") {
      const { writes } = find(each.session);
      const outcome = { tries: [], firsts: [], refusals: 0, isRepeated: false };
      const write = writes.get(each.key) ?? { ...each, order: writes.size, ...outcome };
      write.tries.push(each);
      writes.set(each.key, write);
    } else if (each.type === "follow") {
      const reader: Reader = { ...each, entries: [], end: null };
      readers.set(each.reader, reader);
      find(each.session).readers.push(reader);
    } else if (each.type === "read") readers.get(each.reader)?.entries.push(...each.entries);
    else if (each.type === "loss") find(each.session).kept = each.kept;
    else if (each.type === "final") find(each.session).final = each;
  }
  // Another process may be the first to record the outcome of a write.
  for (const each of operations) {
    if (each.type === "told" || each.type === "left") {
      const reader = readers.get(each.reader);
      if (reader !== undefined) reader.end = each.type;
    } else if (each.type === "killed") {
      for (const reader of readers.values())
        if (reader.reader.startsWith(`${each.process}/`)) reader.end ??= "left";
    } else if (each.type === "acknowledged" || each.type === "refused") {
      const write = find(each.session).writes.get(each.key);
      if (write === undefined) continue;
      if (each.type === "refused") write.refusals++;
      else {
        write.firsts.push(parse(each.first));
        write.isRepeated ||= each.repeated;
      }
    }
  }
  return [...sessions.values()];
}

class SessionCheck {
  readonly #session: Session;
  readonly #mayLose: boolean;
  readonly #report: HistoryReport;
  /** Positions of the list. */
  readonly #list: ReadonlySet<string>;
  readonly #meanings = new Map<string, string>();
  /** What was found wrong with the log need not be reported for each of its readers. */
  readonly #wrongAppends = new Set<string>();
  readonly #base: Position;
  readonly #end: Position;
  readonly #archived: Position;
  readonly #kept: Position | null;

  constructor(session: Session, mayLose: boolean, report: HistoryReport) {
    [this.#session, this.#mayLose, this.#report] = [session, mayLose, report];
    const { base = "0-0", archived = "0-0", entries = [] } = session.final ?? {};
    this.#list = new Set(entries.map(({ position }) => position));
    this.#base = parse(base);
    this.#end = parse(entries.at(-1)?.position ?? base);
    this.#archived = parse(archived);
    this.#kept = session.kept === null ? null : parse(session.kept);
  }

  run(): void {
    const { final, readers, writes } = this.#session;
    this.#report.sessions++;
    if (final !== null) {
      this.#checkSequence("the log", final.base, final.entries);
      this.#checkAppends("the log", final.entries);
      this.#checkList(final.entries);
    }
    for (const reader of readers) this.#checkReader(reader);
    for (const write of writes.values()) this.#checkWrite(write);
  }

  #add(kind: FindingKind, text: string): void {
    this.#report.findings.push({ kind, session: this.#session.name, text });
  }

  #checkSequence(name: string, after: string, entries: readonly HistoryEntry[]): void {
    let before = parse(after);
    for (const { position, key, body } of entries) {
      const at = parse(position);
      const write = this.#session.writes.get(key);
      if (at.seq <= before.seq) this.#add("reordered", `${name}: ${position} after ${format(before)}`);
      else if (at.seq > before.seq + 1) this.#add("gap", `${name}: ${position} after ${format(before)}`);
      if (at.epoch < before.epoch) this.#add("epoch", `${name}: ${position} after ${format(before)}`);
      if (at.epoch > before.epoch && write?.isClaim === false)
        this.#add("epoch", `${name}: ${position} begins an epoch without a claim`);
      if (write?.tries.every(({ epoch }) => epoch !== null && epoch !== at.epoch) === true)
        this.#add("epoch", `${name}: ${position} has an entry of epoch ${write.epoch}`);
      this.#checkMeaning(name, position, key, body);
      before = at;
    }
  }

  #checkMeaning(name: string, position: string, key: string, body: string): void {
    const meaning = `${key} ${body}`;
    const known = this.#meanings.get(position);
    this.#meanings.set(position, known ?? meaning);
    if (known !== undefined && known !== meaning)
      this.#add("replaced", `${name}: ${position} is ${meaning}, and was ${known}`);
  }

  #checkAppends(name: string, entries: readonly HistoryEntry[]): void {
    const bodies = new Map<string, string[]>();
    for (const { key, body } of entries) {
      const found = bodies.get(key);
      if (found === undefined) bodies.set(key, [body]);
      else found.push(body);
    }
    for (const [key, found] of bodies) {
      if (this.#wrongAppends.has(key)) continue;
      const { bodies: sent = [], tries = [], refusals = 0 } = this.#session.writes.get(key) ?? {};
      const isSent = tries.some((each) => each.bodies.every((body, n) => body === found[n]));
      const count = this.#report.findings.length;
      if (tries.length === 0) this.#add("unwritten", `${name}: ${key} was never sent`);
      else if (refusals === tries.length) this.#add("unwritten", `${name}: ${key} was refused`);
      else if (found.length > sent.length) this.#add("doubled", `${name}: ${key}`);
      else if (found.length === sent.length && !isSent)
        this.#add("replaced", `${name}: ${key} has another content than was sent`);
      if (this.#report.findings.length > count) this.#wrongAppends.add(key);
    }
  }

  /** What holds for the list, but not for the part of it that a reader received. */
  #checkList(entries: readonly HistoryEntry[]): void {
    const kept = this.#kept ?? { epoch: -1, seq: 0 };
    const orders = new Map<string, number>();
    let size = 0;
    for (const [n, { position, key }] of entries.entries()) {
      const at = parse(position);
      if (at.seq > kept.seq && at.epoch <= kept.epoch)
        this.#add("epoch", `the log: ${position} was accepted after the loss, before a claim`);
      size++;
      if (entries[n + 1]?.key === key) continue;
      const { writer = "", order = 0, bodies = [] } = this.#session.writes.get(key) ?? {};
      const isTrimmed = this.#base.seq > 0 && size === n + 1;
      if (size < bodies.length && !isTrimmed) this.#add("torn", `the log: ${key}`);
      if (order < (orders.get(writer) ?? 0))
        this.#add("reordered", `the log: ${key} is after a later append of its writer`);
      orders.set(writer, order);
      size = 0;
    }
  }

  #checkReader({ reader: name, after, entries, end }: Reader): void {
    this.#report.readers++;
    this.#report.reads += entries.length;
    if (end === "told") this.#report.told++;
    this.#checkSequence(name, after, entries);
    this.#checkAppends(name, entries);
    if (this.#session.final === null) return;
    const positions = [after, ...entries.map(({ position }) => position)];
    const last = positions.at(-1);
    const known = positions.map((position) => this.#isInList(position));
    const firstLost = known.indexOf(false);
    if (firstLost >= 0) {
      this.#report.sawLost++;
      if (end === null || known.includes(true, firstLost))
        this.#add("stale", `${name} has ${positions[firstLost]}, and was not told`);
    } else if (end === null && this.#list.has(last ?? "") && last !== format(this.#end))
      this.#add("behind", `${name} ends at ${last}, the log at ${format(this.#end)}`);
  }

  /** Positions up to the base were archived and trimmed. */
  #isInList(position: string): boolean {
    if (this.#list.has(position)) return true;
    const { epoch, seq } = parse(position);
    const isArchivedEnd = epoch === this.#archived.epoch && seq > this.#end.seq && seq <= this.#archived.seq;
    return seq <= this.#base.seq || isArchivedEnd;
  }

  #checkWrite({ key, firsts, tries, isRepeated }: Write): void {
    const last = firsts.at(-1);
    // After a claim was acknowledged, it isn't sent again.
    const { bodies = [] } = tries.at(-1) ?? {};
    if (tries.length > 1) this.#report.retried++;
    if (isRepeated) this.#report.repeated++;
    if (last === undefined) return;
    this.#report.acknowledged++;
    if (this.#session.final === null) return;
    for (const [n, body] of bodies.entries()) {
      const positions = firsts.map(({ epoch, seq }) => format({ epoch, seq: seq + n }));
      for (const position of positions) this.#checkMeaning("its writer", position, key, body);
      if (positions.some((position) => this.#isInList(position))) continue;
      this.#report.lost++;
      const at = { epoch: last.epoch, seq: last.seq + n };
      if (!this.#mayBeLost(at)) this.#add("lost", `${key} at ${format(at)} was acknowledged`);
    }
  }

  #mayBeLost({ epoch, seq }: Position): boolean {
    if (this.#kept === null) return this.#mayLose;
    // The list ends with the epoch that was claimed after the loss.
    return seq > this.#kept.seq && epoch < this.#end.epoch;
  }
}

function parse(position: string): Position {
  const [epoch = 0, seq = 0] = position.split("-").map(Number);
  return { epoch, seq };
}

function format({ epoch, seq }: Position): string {
  return `${epoch}-${seq}`;
}
