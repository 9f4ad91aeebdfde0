/** Which addresses of an answer may be opened or loaded without a question: none, unless a team names their hosts. */
export interface LinkPolicy {
  /** Hosts whose links open without a question, such as "docs.example.com" or "*.example.com". */
  readonly hosts: readonly string[];
  /** Hosts whose pictures are loaded without a click. The gateway's own files always are. */
  readonly imageHosts: readonly string[];
}

export const NO_HOSTS: LinkPolicy = { hosts: [], imageHosts: [] };
