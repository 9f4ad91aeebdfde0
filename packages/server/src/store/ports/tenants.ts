/** The sub-port of tenants: who the sessions belong to. Never knows keys or people; those have ports of their own. */

export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
}

export interface Tenants {
  /** Throws EXISTS when the id is taken. */
  create(tenant: { readonly id: string; readonly name: string }): Promise<Tenant>;
  get(id: string): Promise<Tenant | null>;
  /**
   * Erases the tenant and all that is theirs. Each session leaves a pending erasure, like `sessions.remove`.
   * @returns the sessions that are gone, so that their logs can be deleted
   */
  remove(id: string): Promise<string[]>;
}
