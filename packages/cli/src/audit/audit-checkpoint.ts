/**
 * `signCheckpoint` and `parseCheckpoints` write and read checkpoints: signed heads of an audit that are stored outside
 * the database. Pure.
 *
 * Invariant: a checkpoint is valid only with a signature of an audit key, so a process that can only write to the database
 * can't make one. A changed format needs a new version number.
 */
import { type AuditHead, type AuditKey, hashesEqual, mac, StoreError } from "@turnstream/server/internal";

export interface AuditCheckpoint extends AuditHead {
  readonly tenant: string;
  /** When it was made, in milliseconds since 1970. */
  readonly at: number;
  readonly keyId: string;
  readonly signature: string;
}

export function signCheckpoint(
  { tenant, n, hash, at }: Pick<AuditCheckpoint, "tenant" | "n" | "hash" | "at">,
  key: AuditKey,
): AuditCheckpoint {
  const unsigned = { tenant, n, hash, at, keyId: key.id };
  return { ...unsigned, signature: signatureOf(unsigned, key) };
}

/**
 * Reads one checkpoint per line, and returns those of the tenant.
 * @throws StoreError with INVALID for a line that is no checkpoint, or that none of the keys has signed
 */
export function parseCheckpoints(text: string, tenant: string, keys: readonly AuditKey[]): AuditCheckpoint[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, n) => parseCheckpoint(line, keys, `line ${n + 1}`))
    .filter((checkpoint) => checkpoint.tenant === tenant);
}

function parseCheckpoint(line: string, keys: readonly AuditKey[], where: string): AuditCheckpoint {
  const checkpoint = readCheckpoint(line);
  if (checkpoint === null) throw new StoreError("INVALID", `checkpoint in ${where}`);
  const key = keys.find(({ id }) => id === checkpoint.keyId);
  if (key === undefined) throw new StoreError("INVALID", `checkpoint in ${where} has another audit key`);
  if (!hashesEqual(Buffer.from(checkpoint.signature), Buffer.from(signatureOf(checkpoint, key))))
    throw new StoreError("INVALID", `checkpoint in ${where} has a wrong signature`);
  return checkpoint;
}

function readCheckpoint(line: string): AuditCheckpoint | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { tenant, n, hash, at, keyId, signature } = value as Readonly<Record<string, unknown>>;
  const areTexts = [tenant, hash, keyId, signature].every((text) => typeof text === "string");
  const areNumbers = [n, at].every((number) => Number.isSafeInteger(number));
  if (!areTexts || !areNumbers) return null;
  return { tenant, n, hash, at, keyId, signature } as AuditCheckpoint;
}

function signatureOf(checkpoint: Omit<AuditCheckpoint, "signature">, { secret }: AuditKey): string {
  const { tenant, n, hash, at, keyId } = checkpoint;
  return mac(secret, JSON.stringify(["checkpoint", 1, tenant, n, hash, at, keyId]));
}
