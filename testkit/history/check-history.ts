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
      readonly bodies: readonly string[];
      /** Null for a writer that joins any epoch. */
      readonly epoch: number | null;
      readonly isClaim: boolean;
    }
  | { readonly type: "acknowledged"; readonly session: string; readonly key: string; readonly first: string }
  /** The first and only try was refused, so the entries must never appear. */
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
  /** The whole log in the end, after the position `base`. */
  | {
      readonly type: "final";
      readonly session: string;
      readonly base: string;
      readonly entries: readonly HistoryEntry[];
    };

export type FindingKind =
  /** An acknowledged entry is not in the list. */
  | "lost"
  /** Entries of one append are in the list twice. */
  | "doubled"
  /** Only some entries of an append are in the list. */
  | "torn"
  /** A position has two meanings, or an entry another content than its writer sent. */
  | "replaced"
  /** A reader received a position that is not after the one before. */
  | "reordered"
  /** A reader skipped a position. */
  | "gap"
  /** A reader kept or continued after an entry that is not in the list, and was not told. */
  | "stale"
  /** A reader that was not told to reload lacks the end of the list. */
  | "behind"
  /** An entry is in another epoch than its writer's, or an epoch does not begin with its claim. */
  | "epoch"
  /** Nobody wrote the entry, or its append was refused. */
  | "unwritten";

export interface Finding {
  readonly kind: FindingKind;
  readonly session: string;
  readonly text: string;
}

export interface HistoryReport {
  readonly findings: readonly Finding[];
  readonly sessions: number;
  readonly readers: number;
  /** Entries that readers received. */
  readonly reads: number;
  readonly acknowledged: number;
  /** Tries after one without an answer. */
  readonly retries: number;
  /** Appends of which no answer is known. */
  readonly unknown: number;
  /** How often a reader was told to reload. */
  readonly told: number;
  /** Acknowledged entries that a failover has lost. Without `mayLose`, each is also a finding. */
  readonly lost: number;
}

export interface CheckOptions {
  /** Whether the newest entries of an epoch may be lost, if every reader of them is told. @default false */
  readonly mayLose?: boolean;
  /** Whether every reader that is still reading must have the whole list. @default true */
  readonly isComplete?: boolean;
}

interface Position {
  readonly epoch: number;
  readonly seq: number;
}

interface Try {
  readonly bodies: readonly string[];
  readonly epoch: number | null;
}

interface Write {
  /** A claim that is refused is sent again under a higher epoch. All others repeat the same. */
  readonly tries: Try[];
  readonly isClaim: boolean;
  /** Where it was acknowledged: more than once if a failover lost it, and its writer sent it again. */
  readonly firsts: Position[];
  /** How many tries were refused. */
  refusals: number;
}

interface Reader {
  readonly name: string;
  readonly after: string;
  readonly entries: HistoryEntry[];
  end: "told" | "left" | null;
}

interface Session {
  readonly name: string;
  readonly writes: Map<string, Write>;
  readonly readers: Reader[];
  final: { readonly base: string; readonly entries: readonly HistoryEntry[] } | null;
}

export function checkHistory(history: Iterable<Operation>, options: CheckOptions = {}): HistoryReport {
  const sessions = collectSessions(history);
  const reports = sessions.map((session) => new SessionCheck(session, options).run());
  const sum = (count: (report: Omit<HistoryReport, "sessions">) => number) =>
    reports.reduce((total, report) => total + count(report), 0);
  return {
    findings: reports.flatMap(({ findings }) => findings),
    sessions: sessions.length,
    readers: sum(({ readers }) => readers),
    reads: sum(({ reads }) => reads),
    acknowledged: sum(({ acknowledged }) => acknowledged),
    retries: sum(({ retries }) => retries),
    unknown: sum(({ unknown }) => unknown),
    told: sum(({ told }) => told),
    lost: sum(({ lost }) => lost),
  };
}

function collectSessions(history: Iterable<Operation>): Session[] {
  const sessions = new Map<string, Session>();
  const readers = new Map<string, Reader>();
  const find = (name: string): Session => {
    const session = sessions.get(name) ?? { name, writes: new Map(), readers: [], final: null };
    sessions.set(name, session);
    return session;
  };
  // Another process may be the first to record the outcome of a write.
  const writeOf = (session: string, key: string): Write | undefined => find(session).writes.get(key);
  const operations = [...history];
  for (const each of operations) {
    if (each.type === "write") {
      const { session, key, bodies, epoch, isClaim } = each;
      const write = writeOf(session, key) ?? { tries: [], isClaim, firsts: [], refusals: 0 };
      find(session).writes.set(key, write);
      write.tries.push({ bodies, epoch });
    } else if (each.type === "follow") {
      const reader: Reader = { name: each.reader, after: each.after, entries: [], end: null };
      readers.set(each.reader, reader);
      find(each.session).readers.push(reader);
    } else if (each.type === "read") readers.get(each.reader)?.entries.push(...each.entries);
    else if (each.type === "final") find(each.session).final = each;
  }
  for (const each of operations) {
    if (each.type === "told" || each.type === "left") {
      const reader = readers.get(each.reader);
      if (reader !== undefined) reader.end = each.type;
    } else if (each.type === "killed") {
      for (const reader of readers.values())
        if (reader.name.startsWith(`${each.process}/`)) reader.end ??= "left";
    } else if (each.type === "acknowledged" || each.type === "refused") {
      const write = writeOf(each.session, each.key);
      if (write === undefined) continue;
      if (each.type === "refused") write.refusals++;
      else write.firsts.push(parse(each.first));
    }
  }
  return [...sessions.values()];
}

class SessionCheck {
  readonly #session: Session;
  readonly #options: CheckOptions;
  readonly #findings: Finding[] = [];
  /** The list, by position. */
  readonly #list = new Map<string, HistoryEntry>();
  readonly #meanings = new Map<string, string>();
  readonly #base: Position;

  constructor(session: Session, options: CheckOptions) {
    this.#session = session;
    this.#options = options;
    for (const entry of session.final?.entries ?? []) this.#list.set(entry.position, entry);
    this.#base = parse(session.final?.base ?? "0-0");
  }

  run(): Omit<HistoryReport, "sessions"> {
    const { final, readers, writes } = this.#session;
    if (final !== null) {
      this.#checkSequence("the log", final.base, final.entries);
      this.#checkAppends("the log", final.entries, true);
    }
    for (const reader of readers) this.#checkReader(reader);
    let lost = 0;
    for (const [key, write] of writes) lost += this.#countLost(key, write);
    const outcomes = [...writes.values()];
    return {
      findings: this.#findings,
      readers: readers.length,
      reads: readers.reduce((sum, { entries }) => sum + entries.length, 0),
      acknowledged: outcomes.filter(({ firsts }) => firsts.length > 0).length,
      retries: outcomes.reduce((total, { tries }) => total + tries.length - 1, 0),
      unknown: outcomes.filter((write) => write.firsts.length === 0 && !isRefused(write)).length,
      told: readers.filter(({ end }) => end === "told").length,
      lost,
    };
  }

  #report(kind: FindingKind, text: string): void {
    this.#findings.push({ kind, session: this.#session.name, text });
  }

  #checkSequence(name: string, after: string, entries: readonly HistoryEntry[]): void {
    let before = parse(after);
    for (const { position, key, body } of entries) {
      const at = parse(position);
      const write = this.#session.writes.get(key);
      if (at.seq <= before.seq) this.#report("reordered", `${name}: ${position} after ${format(before)}`);
      else if (at.seq > before.seq + 1) this.#report("gap", `${name}: ${position} after ${format(before)}`);
      if (at.epoch < before.epoch) this.#report("epoch", `${name}: ${position} after ${format(before)}`);
      if (at.epoch > before.epoch && write?.isClaim === false)
        this.#report("epoch", `${name}: ${position} begins an epoch without a claim`);
      if (write?.tries.every(({ epoch }) => epoch !== null && epoch !== at.epoch) === true)
        this.#report("epoch", `${name}: ${position} has an entry of epoch ${write.tries[0]?.epoch}`);
      this.#checkMeaning(name, position, key, body);
      before = at;
    }
  }

  #checkMeaning(name: string, position: string, key: string, body: string): void {
    const meaning = `${key} ${body}`;
    const known = this.#meanings.get(position);
    this.#meanings.set(position, known ?? meaning);
    if (known !== undefined && known !== meaning)
      this.#report("replaced", `${name}: ${position} is ${meaning}, and was ${known}`);
  }

  #checkAppends(name: string, entries: readonly HistoryEntry[], isWhole: boolean): void {
    const bodies = new Map<string, string[]>();
    for (const { key, body } of entries) {
      const found = bodies.get(key);
      if (found === undefined) bodies.set(key, [body]);
      else found.push(body);
    }
    for (const [key, found] of bodies) {
      const write = this.#session.writes.get(key);
      const size = Math.max(...(write?.tries.map(({ bodies: sent }) => sent.length) ?? []));
      if (write === undefined || isRefused(write))
        this.#report("unwritten", `${name}: ${key} was ${write === undefined ? "never sent" : "refused"}`);
      else if (found.length > size) this.#report("doubled", `${name}: ${key}`);
      else if (found.length < size) {
        if (isWhole && this.#base.seq === 0) this.#report("torn", `${name}: ${key}`);
      } else if (!write.tries.some(({ bodies: sent }) => found.every((body, n) => body === sent[n])))
        this.#report("replaced", `${name}: ${key} has another content than was sent`);
    }
  }

  #checkReader({ name, after, entries, end }: Reader): void {
    this.#checkSequence(name, after, entries);
    this.#checkAppends(name, entries, false);
    if (this.#session.final === null) return;
    const known = [after, ...entries.map(({ position }) => position)].map((at) => this.#isInList(at));
    const firstLost = known.indexOf(false);
    if (firstLost >= 0 && (end === null || known.includes(true, firstLost)))
      this.#report("stale", `${name} has ${entries[firstLost - 1]?.position ?? after}, and was not told`);
    const last = this.#session.final.entries.at(-1)?.position;
    const isAtEnd = last === undefined || (entries.at(-1)?.position ?? after) === last;
    if (end === null && firstLost < 0 && !isAtEnd && this.#options.isComplete !== false)
      this.#report("behind", `${name} ends at ${entries.at(-1)?.position ?? after}, the log at ${last}`);
  }

  /** Positions up to the base were archived and trimmed. */
  #isInList(position: string): boolean {
    return this.#list.has(position) || parse(position).seq <= this.#base.seq;
  }

  #countLost(key: string, { firsts, tries }: Write): number {
    const last = firsts.at(-1);
    if (last === undefined || this.#session.final === null) return 0;
    // Only a claim has tries with other contents, and it was the last one that succeeded.
    const { bodies = [] } = tries.at(-1) ?? {};
    let lost = 0;
    for (const [n, body] of bodies.entries()) {
      const positions = firsts.map(({ epoch, seq }) => ({ epoch, seq: seq + n }));
      for (const at of positions) this.#checkMeaning("its writer", format(at), key, body);
      if (positions.some((at) => this.#isInList(format(at)))) continue;
      lost++;
      const at = { epoch: last.epoch, seq: last.seq + n };
      if (this.#options.mayLose !== true || this.#hasLater(at))
        this.#report("lost", `${key} at ${format(at)} was acknowledged`);
    }
    return lost;
  }

  /** A failover loses the end of an epoch, and nothing in its middle. */
  #hasLater({ epoch, seq }: Position): boolean {
    return [...this.#list.keys()].some((position) => {
      const each = parse(position);
      return each.epoch === epoch && each.seq > seq;
    });
  }
}

function isRefused({ tries, refusals }: Write): boolean {
  return refusals === tries.length;
}

function parse(position: string): Position {
  const [epoch = 0, seq = 0] = position.split("-").map(Number);
  return { epoch, seq };
}

function format({ epoch, seq }: Position): string {
  return `${epoch}-${seq}`;
}
