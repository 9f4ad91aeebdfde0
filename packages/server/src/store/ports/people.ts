/**
 * The sub-port that gives people numbers, so that what can't be changed (the audit) names somebody by a number
 * whose name can be erased. Never gives a number twice.
 */
export interface People {
  /** The same at every call, until the person is forgotten. */
  numberOf(tenant: string, user: string): Promise<number>;
  /** Null when the person was forgotten or never was. */
  nameOf(tenant: string, number: number): Promise<string | null>;
  /** From now on nobody can tell whose number it was. False when there was none. */
  forget(tenant: string, user: string): Promise<boolean>;
}
