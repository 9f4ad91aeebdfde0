/** `logSizes` lists the sizes in which `log.pml` is checked, and the parts with which each of its mutations is found. */

/** Sizes of the model: how many epochs there are, and how many appends the writer of each makes. */
function sizes(appends: readonly number[], doubts = 0): string {
  const [first = 0, second = 0, third = 0] = appends;
  return `EPOCHS=${appends.length} APPENDS1=${first} APPENDS2=${second} APPENDS3=${third} DOUBTS=${doubts}`;
}

/** The sizes and parts, by name. The longest searches are first. */
const configurations = {
  "old-primary": `${sizes([1, 1])} FAILOVER ARCHIVE READER JOINS=1 SPLITS=true`,
  "row-claims": `${sizes([1, 0, 1])} FAILOVER ARCHIVE JOINS=2`,
  "reader-row": `${sizes([1, 1])} FAILOVER ARCHIVE READER JOINS=1`,
  archive: `${sizes([3, 1, 1], 1)} FAILOVER ARCHIVE EXPIRY`,
  reader: `${sizes([2, 1], 1)} FAILOVER ARCHIVE EXPIRY READER`,
  retries: `${sizes([3, 2, 1], 3)} FAILOVER`,
  row: `${sizes([2, 1])} FAILOVER ARCHIVE EXPIRY JOINS=2`,
  "reader-claims": `${sizes([2, 1, 1])} FAILOVER READER JOINS=1`,
};

const WRITERS = sizes([2, 1], 2);
const ARCHIVE = `${sizes([2, 1, 1])} FAILOVER ARCHIVE`;
const ROW = `${sizes([2, 1], 1)} FAILOVER ARCHIVE JOINS=2`;
const READER = `${sizes([2, 1, 1])} FAILOVER READER JOINS=1`;

/** By name: sizes and parts with which the rule is needed. A suffix distinguishes two searches for one mutation. */
const mutations = {
  NoGeneration: WRITERS,
  GenerationNotStored: WRITERS,
  LateRetry: WRITERS,
  LateClaim: WRITERS,
  ClaimSentAgain: ROW,
  ClaimNotConfirmed: ARCHIVE,
  ClaimWithoutRestart: ARCHIVE,
  StaleTimeline: ARCHIVE,
  "StaleTimeline-reader": `${READER} EFFECTS`,
  "StaleTimeline-archive": `${ROW} EFFECTS`,
  StaleTimelineOfRow: ROW,
  RowNotSearched: ROW,
  RowBeforeBase: ROW,
  RowAfterEnd: ROW,
  RowReadFirst: `${sizes([0])} ARCHIVE JOINS=2`,
  ArchiveDuringClaim: ARCHIVE,
  TrimUnarchived: ARCHIVE,
  CursorBySeq: READER,
  ClaimJoinedBySeq: READER,
};

export const logSizes = { configurations, mutations };
