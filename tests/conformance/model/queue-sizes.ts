/** `queueSizes` lists the sizes in which `queue.pml` is checked, and the parts with which each of its mutations is found. */

const ENDS = "DEATH FREEZE DRAIN RESTART";
const FAILOVER = "FREEZE FAILOVER LOST=2";

/** The sizes and parts, by name. The longest searches are first. */
const configurations = {
  "failover-tool": "DEATH FREEZE RESTART TOOL FAILOVER LOST=2 DOUBTS=1",
  "failover-messages": `${FAILOVER} MESSAGES=2 DOUBTS=1`,
  "failover-question": "DEATH FREEZE DRAIN PARK FAILOVER LOST=2 DOUBTS=1",
  "failover-sessions": "DEATH FREEZE FAILOVER LOST=1 SESSIONS=2",
  slices: "FREEZE SESSIONS=2 MESSAGES=2 DOUBTS=1",
  turn: `${ENDS} PARK TOOL DOUBTS=2`,
  answers: `${ENDS} OUTAGE MESSAGES=2 DOUBTS=2`,
  "log-loss": `${FAILOVER} TOOL LOG_LOSS`,
  workers: `${ENDS} OUTAGE SESSIONS=2 MESSAGES=2`,
  "failover-turn": "FREEZE PARK TOOL FAILOVER LOST=3",
};

/** By name: sizes and parts with which the rule is needed. A suffix distinguishes two searches for one mutation. */
const mutations = {
  EpochAlone: "DRAIN DOUBTS=1",
  ExecutorAlone: "DRAIN FREEZE DOUBTS=1 TOOL",
  EpochByOne: FAILOVER,
  NoCount: `${FAILOVER} TOOL`,
  "NoCount-question": "PARK FAILOVER LOST=1 EVENTUALLY",
  AnyClaim: "FREEZE",
  ReadBeforeClaim: `${FAILOVER} TOOL`,
  StartOnlyInJournal: `${FAILOVER} TOOL`,
  StartAfterEffect: "DEATH TOOL",
  LeaseNotLocked: "DEATH DOUBTS=1",
  ExpiredLease: "FREEZE",
  UnknownRowKept: "DOUBTS=1",
  LeaveKeepsRows: "DRAIN DOUBTS=1",
  LeaveToRecovery: "DRAIN DOUBTS=1",
  LeaseRemovedFirst: "DEATH SESSIONS=2",
  RecoverUnchecked: "FREEZE",
  RecoverAfterOutage: "OUTAGE",
  EndReadFirst: "MESSAGES=2",
  ParkReadFirst: "PARK",
  WakeApart: "PARK",
  NextTaken: "FREEZE MESSAGES=2",
};

export const queueSizes = { configurations, mutations };
