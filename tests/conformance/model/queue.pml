/*
 * The queue of turns: docs/queue-model.md explains this file, and `npm run model` checks it.
 *
 * Each `d_step` is one statement to PostgreSQL, one script of Redis or one step of a process. Spin tries the steps in
 * every order. queue-sizes.ts defines the sizes and parts of a configuration. `IF(name)` marks what a mutation changes:
 * it removes one rule. Signals don't occur: every worker finds its work by polling.
 *
 * Invariant: every step makes progress, so each run ends. The check at its end, `timeout`, thus covers what must happen
 * eventually.
 */
#ifndef SESSIONS
#define SESSIONS 1
#endif
#ifndef MESSAGES
#define MESSAGES 1 /* of the first session. The second one has one */
#endif
#ifndef DOUBTS
#define DOUBTS 0 /* how many statements are given up, and may be executed later */
#endif
#ifndef LOST
#define LOST 0 /* how many commits a failover loses at most */
#endif
#ifdef PARK
#define HAS_QUESTION true
#else
#define HAS_QUESTION false
#endif
#ifdef TOOL
#define HAS_TOOL true
#else
#define HAS_TOOL false
#endif
#ifndef MUTATION
#define MUTATION None
#endif
mtype = { None, EpochAlone, ExecutorAlone, NoCount, EpochByOne, AnyClaim, ReadBeforeClaim, StartOnlyInJournal,
  StartAfterEffect, LeaseNotLocked, ExpiredLease, UnknownRowKept, LeaveKeepsRows, LeaveToRecovery, LeaseRemovedFirst,
  RecoverUnchecked, RecoverAfterOutage, EndReadFirst, ParkReadFirst, WakeApart, NextTaken }
mtype = { Fetch, Raise, Write, Park, Release, End } /* statements of a worker for one session */
mtype = { Fetched, Outbid, Claimed, Working, Started, Shown, Done } /* phases of an attempt; 0: there is none */

/* Entries of a journal. */
#define QUESTION 1
#define START 2
#define OUTCOME 4
#define STEP 8

/* A worker is its name: 1 and 2 run at first, and 3 follows worker 1 when that one has ended. 0 is no worker. */
typedef Row {
  byte added; byte taken; byte done; /* messages: the turn runs the last one taken. `done` is only for the checks */
  bool isRunning, isQueued, isParked, isDecided; byte executor; byte epoch; byte deaths; byte journal
}
typedef Database { Row row[SESSIONS]; bool lease[4] }
typedef Statement {
  mtype kind; byte worker; byte session; byte epoch; byte turn; byte known; byte entry; bool isOutdated, wasOutdated
}
typedef Attempt { mtype phase; byte epoch; byte turn; byte known; bool isStarted, isDecided, isOutdated, wasOutdated }
typedef Answer { byte session; byte epoch }

Database database[2];  /* 0 is the primary, 1 its replica, which becomes the primary */
bool isCut, hasFailed; /* the replica receives nothing more; the replica is the primary */
byte lost, doubts, tag = 1; /* the epochs of a server have its tag, lower or higher than that of the other */
Attempt attempt[8];    /* by worker and session */
Answer answer[4];      /* of a fetch, on its way to the worker. `session` counts from 1 */
Statement late;        /* a statement that its worker has given up, and that may still be executed */
bool isAlive[4], isDraining[4], hasEnded;
mtype = { OnTime, Overdue, Waiting }
mtype lease[4];        /* Overdue: the worker died or froze. Waiting: nobody could renew during the outage */
bool isUnsettled;      /* less than a lease time has passed since the outage */
byte logEpoch[SESSIONS], logWriter[SESSIONS]; bool isStartShown, isStartLost, isLogLost; byte effects;
bool wasAway, isDisturbed, hasFollower; byte suspect, snapshot; /* `suspect` and `snapshot` are used by mutations */
Statement now; bool result; byte k; /* scratch, 0 between two steps */

#define D database[hasFailed]
#define ROW(s) D.row[s]
#define A(w, s) attempt[(w) * 2 + (s)]
#define IF(mutation) (MUTATION == mutation)
#define WHEN(condition, step) if :: (condition) -> step :: else fi
#define HOLDS(name, condition) if :: (condition) :: else -> printf("BROKEN: "); printf(name); assert(false) fi
#ifdef EVENTUALLY /* look only at how a run ends */
#define HOLDS_ALWAYS(name, condition) skip
#else
#define HOLDS_ALWAYS(name, condition) HOLDS(name, condition)
#endif
#define CAN_COMMIT (!isCut || hasFailed || lost < LOST)
#define COMMIT WHEN(isCut && !hasFailed, lost++)
#define CAN_DOUBT (late.kind == 0 && doubts < DOUBTS)
#define MAX(a, b) ((a) > (b) -> (a) : (b))
/* A higher epoch, which the other server never assigns: in reality by a random step. */
#define AFTER(epoch) (((epoch) / 4 + 1) * 4 + (IF(EpochByOne) -> 0 : tag))
#define TOTAL(s) ((s) == 0 -> MESSAGES : 1)
#define IS_OWNER(r) ((IF(EpochAlone) || ROW(r.session).executor == r.worker) && \
  (IF(ExecutorAlone) || ROW(r.session).epoch == r.epoch))
#define IS_CURRENT(r) (IS_OWNER(r) && (IF(NoCount) || ROW(r.session).journal == r.known))

/* What the turn of an attempt has to do. Only the first turn of the first session has a question and a tool. */
#define IS_FIRST(w, s) ((s) == 0 && A(w, s).turn == 1)
#define HAS(w, s, entry) ((A(w, s).known & entry) != 0)
#define ASKS(w, s) (HAS_QUESTION && IS_FIRST(w, s) && !HAS(w, s, QUESTION))
#define WAITS(w, s) (HAS_QUESTION && IS_FIRST(w, s) && HAS(w, s, QUESTION) && !A(w, s).isDecided)
#define CALLS(w, s) (HAS_TOOL && IS_FIRST(w, s) && !ASKS(w, s) && !WAITS(w, s) && !HAS(w, s, OUTCOME))
#define STEPS(w, s) (!ASKS(w, s) && !WAITS(w, s) && !CALLS(w, s) && !HAS(w, s, STEP))
#define ENDS(w, s) HAS(w, s, STEP)

inline forget(a) {
  a.phase = 0; a.epoch = 0; a.turn = 0; a.known = 0; a.isStarted = false; a.isDecided = false; a.isOutdated = false;
  a.wasOutdated = false
}
inline clear(r) {
  r.kind = 0; r.worker = 0; r.session = 0; r.epoch = 0; r.turn = 0; r.known = 0; r.entry = 0; r.isOutdated = false;
  r.wasOutdated = false
}

/* One statement. `result` is whether it changed the row. */
inline execute(r) {
  k = r.session;
  result = false;
  if
  :: r.kind == Fetch ->
     WHEN(ROW(k).isQueued && ROW(k).executor == 0 && (IF(LeaseNotLocked) || D.lease[r.worker]) &&
         (IF(ExpiredLease) || lease[r.worker] == OnTime),
       result = true; ROW(k).isQueued = false; ROW(k).executor = r.worker;
       ROW(k).epoch = AFTER(ROW(k).epoch);
       WHEN(!ROW(k).isRunning || (IF(NextTaken) && ROW(k).taken < ROW(k).added),
         ROW(k).isRunning = true; ROW(k).taken++;
         HOLDS("each message is run once and in order\n", ROW(k).taken <= ROW(k).added)))
  :: r.kind == Raise && IS_OWNER(r) ->
     result = true; ROW(k).epoch = AFTER(MAX(ROW(k).epoch, logEpoch[k]))
  :: r.kind == Release && IS_OWNER(r) -> result = true; ROW(k).executor = 0; ROW(k).isQueued = true
  :: (r.kind == Write || r.kind == Park || r.kind == End) && IS_CURRENT(r) ->
     result = true;
     HOLDS("only the newest attempt writes\n", !r.isOutdated);
     if
     :: r.kind == Write ->
        HOLDS_ALWAYS("the journal has no gap\n", ROW(k).journal == r.known); ROW(k).journal = ROW(k).journal | r.entry
     :: r.kind == Park ->
        ROW(k).executor = 0;
        ROW(k).isQueued = (IF(ParkReadFirst) -> snapshot : ROW(k).isDecided); ROW(k).isParked = !ROW(k).isQueued
     :: r.kind == End ->
        HOLDS("each message is run once and in order\n", ROW(k).done + 1 == ROW(k).taken && r.turn == ROW(k).taken);
        ROW(k).executor = 0; ROW(k).isRunning = false; ROW(k).journal = 0; ROW(k).isDecided = false;
        ROW(k).deaths = 0; ROW(k).done++;
        ROW(k).isQueued = ((IF(EndReadFirst) -> snapshot : ROW(k).added) > ROW(k).taken)
     fi;
     HOLDS("a decided turn is not parked\n", !(ROW(k).isParked && ROW(k).isDecided))
  :: else
  fi;
  WHEN(result, COMMIT);
  printf("%e of worker %d for session %d", r.kind, r.worker, k);
  if
  :: r.kind == Fetch && result -> printf(" gets epoch %d\n", ROW(k).epoch)
  :: r.kind != Fetch && result -> printf(" under epoch %d is done\n", r.epoch)
  :: else -> printf(" is refused\n")
  fi;
  k = 0
}

inline prepare(what, w, s, that) {
  now.kind = what; now.worker = w; now.session = s; now.epoch = A(w, s).epoch; now.turn = A(w, s).turn;
  now.known = A(w, s).known; now.entry = that; now.isOutdated = A(w, s).isOutdated; now.wasOutdated = A(w, s).wasOutdated
}

/* A worker sends a statement of its attempt and gets the answer. `next` is the phase after a success. */
inline send(what, w, s, that, next) {
  prepare(what, w, s, that);
  execute(now);
  clear(now);
  if
  :: result && what == Raise -> A(w, s).epoch = ROW(s).epoch; A(w, s).turn = 0; A(w, s).phase = Fetched
  :: result && what != Raise && next > 0 -> A(w, s).known = A(w, s).known | that; A(w, s).phase = next
  :: result && next == 0 -> forget(A(w, s))
  :: !result && (what == Raise || what == Release) -> forget(A(w, s))
  :: else -> A(w, s).phase = Outbid
  fi;
  result = false
}

/* A worker gives a statement up without an answer. It may be executed later. */
inline doubt(what, w, s, that) {
  doubts++;
  prepare(what, w, s, that);
  late.kind = now.kind; late.worker = w; late.session = s; late.epoch = now.epoch; late.turn = now.turn;
  late.known = now.known; late.entry = that; late.isOutdated = now.isOutdated; late.wasOutdated = now.wasOutdated;
  clear(now);
  printf("worker %d gives up %e for session %d\n", w, what, s);
  if
  :: what == Fetch
  :: what == Release -> forget(A(w, s))
  :: else -> A(w, s).phase = Outbid
  fi
}

/* One statement of an attempt, with its answer or without. */
#define STATEMENT(condition, what, w, s, that, next) \
  :: d_step { (condition) && CAN_COMMIT -> send(what, w, s, that, next) } \
  :: d_step { (condition) && CAN_DOUBT -> doubt(what, w, s, that) }

/* From now on, no other attempt of the session may write, unless a failover loses this. */
inline outdateOthers(w, s) {
  for (k : 1 .. 3) {
    WHEN(A(k, s).phase > 0, A(k, s).isOutdated = (k != w); WHEN(!isCut, A(k, s).wasOutdated = (k != w)))
  }
  WHEN(late.kind > 0 && late.session == s, late.isOutdated = true; WHEN(!isCut, late.wasOutdated = true));
  k = 0
}

inline restoreOutdated(a) { a.isOutdated = a.wasOutdated; a.wasOutdated = false }

inline readJournal(w, s) {
  if
  :: ROW(s).executor == w && ROW(s).epoch == A(w, s).epoch ->
     A(w, s).known = ROW(s).journal; A(w, s).turn = ROW(s).taken; A(w, s).isDecided = ROW(s).isDecided;
     A(w, s).isStarted = ((s == 0) && isStartShown && !IF(StartOnlyInJournal));
     outdateOthers(w, s);
     printf("worker %d reads the journal of session %d\n", w, s);
     A(w, s).phase = (A(w, s).phase == Claimed -> Working : Claimed)
  :: else -> printf("session %d no longer belongs to worker %d\n", s, w); forget(A(w, s))
  fi
}

inline claim(w, s) {
  if
  :: A(w, s).epoch > logEpoch[s] || IF(AnyClaim) ->
     HOLDS("the epochs of the log only grow\n", A(w, s).epoch > logEpoch[s]);
     logEpoch[s] = A(w, s).epoch; logWriter[s] = w;
     A(w, s).phase = (IF(ReadBeforeClaim) -> Working : Claimed);
     printf("worker %d claims the log of session %d under epoch %d\n", w, s, logEpoch[s])
  :: else -> A(w, s).phase = Outbid; printf("the log of session %d refuses worker %d\n", s, w)
  fi
}

inline work(w, s) {
  if
  :: d_step { isAlive[w] && !isDraining[w] && answer[w].session == 0 && CAN_COMMIT && ROW(s).isQueued &&
              D.lease[w] && (lease[w] == OnTime || IF(ExpiredLease)) ->
       now.kind = Fetch; now.worker = w; now.session = s;
       execute(now); clear(now);
       WHEN(result, answer[w].session = s + 1; answer[w].epoch = ROW(s).epoch); result = false }
  :: d_step { isAlive[w] && !isDraining[w] && answer[w].session == 0 && CAN_DOUBT && ROW(s).isQueued && D.lease[w] ->
       doubt(Fetch, w, s, 0) }
  :: d_step { isAlive[w] && answer[w].session == s + 1 ->
       forget(A(w, s)); A(w, s).phase = Fetched; A(w, s).epoch = answer[w].epoch;
       answer[w].session = 0; answer[w].epoch = 0; printf("worker %d learns that it runs session %d\n", w, s) }
  :: d_step { answer[w].session == s + 1 && doubts < DOUBTS ->
       doubts++; answer[w].session = 0; answer[w].epoch = 0; printf("the answer to worker %d is lost\n", w) }
  /* At its renewal, a worker releases what it doesn't run. An answer on its way makes this a mistake without harm. */
  :: d_step { isAlive[w] && D.lease[w] && ROW(s).executor == w && CAN_COMMIT && !IF(UnknownRowKept) &&
              (A(w, s).phase == 0 || A(w, s).epoch != ROW(s).epoch) && (answer[w].session == 0 || doubts < DOUBTS) ->
       WHEN(answer[w].session > 0, doubts++);
       now.kind = Release; now.worker = w; now.session = s; now.epoch = ROW(s).epoch;
       execute(now); clear(now); result = false }
  /* Draining. */
  STATEMENT(isDraining[w] && A(w, s).phase > 0, Release, w, s, 0, 0)
  /* An attempt. */
  :: d_step { A(w, s).phase == Fetched && IF(ReadBeforeClaim) && A(w, s).turn == 0 -> readJournal(w, s);
       WHEN(A(w, s).phase > 0, A(w, s).phase = Fetched) }
  :: d_step { A(w, s).phase == Fetched && (!IF(ReadBeforeClaim) || A(w, s).turn > 0) -> claim(w, s) }
  STATEMENT(A(w, s).phase == Outbid, Raise, w, s, 0, Fetched)
  :: d_step { A(w, s).phase == Claimed -> readJournal(w, s) }
  STATEMENT(A(w, s).phase == Working && ASKS(w, s), Write, w, s, QUESTION, Working)
  :: d_step { A(w, s).phase == Working && WAITS(w, s) && ROW(s).isDecided ->
       A(w, s).isDecided = true; printf("worker %d reads the decision\n", w) }
  STATEMENT(A(w, s).phase == Working && WAITS(w, s), Park, w, s, 0, 0)
  /* An earlier attempt has started the tool. */
  STATEMENT(A(w, s).phase == Working && CALLS(w, s) && (HAS(w, s, START) || A(w, s).isStarted), Write, w, s,
    (START | OUTCOME), Working)
  STATEMENT(A(w, s).phase == Working && CALLS(w, s) && !HAS(w, s, START) && !A(w, s).isStarted && !IF(StartAfterEffect),
    Write, w, s, START, Started)
  :: d_step { A(w, s).phase == Working && CALLS(w, s) && !HAS(w, s, START) && !A(w, s).isStarted &&
              IF(StartAfterEffect) -> A(w, s).phase = Shown }
  :: d_step { A(w, s).phase == Started ->
       if
       :: logEpoch[s] == A(w, s).epoch && logWriter[s] == w ->
          isStartShown = true; A(w, s).phase = Shown; printf("worker %d writes the start of the tool to the log\n", w)
       :: else -> A(w, s).phase = Outbid; printf("the log refuses the start of the tool by worker %d\n", w)
       fi }
  :: d_step { A(w, s).phase == Shown ->
       printf("the tool of worker %d takes effect\n", w);
       HOLDS("a tool takes effect once\n", effects == 0 || (isStartLost && isLogLost));
       effects++; A(w, s).phase = Done }
  STATEMENT(A(w, s).phase == Done, Write, w, s, (START | OUTCOME), Working)
  STATEMENT(A(w, s).phase == Working && STEPS(w, s), Write, w, s, STEP, Working)
  STATEMENT(A(w, s).phase == Working && ENDS(w, s), End, w, s, 0, 0)
  fi
}

inline copyToReplica() {
  for (k : 0 .. SESSIONS - 1) {
    database[1].row[k].added = database[0].row[k].added; database[1].row[k].taken = database[0].row[k].taken;
    database[1].row[k].done = database[0].row[k].done;
    database[1].row[k].isRunning = database[0].row[k].isRunning;
    database[1].row[k].isQueued = database[0].row[k].isQueued;
    database[1].row[k].isParked = database[0].row[k].isParked;
    database[1].row[k].isDecided = database[0].row[k].isDecided;
    database[1].row[k].executor = database[0].row[k].executor;
    database[1].row[k].epoch = database[0].row[k].epoch; database[1].row[k].deaths = database[0].row[k].deaths;
    database[1].row[k].journal = database[0].row[k].journal
  }
  for (k : 1 .. 3) { database[1].lease[k] = database[0].lease[k] }
  k = 0
}

/* A process ends. What it has sent may still be executed. */
inline exit(w) {
  isAlive[w] = false; isDraining[w] = false; answer[w].session = 0; answer[w].epoch = 0;
  for (k : 0 .. 1) { forget(A(w, k)) }
  k = 0;
  WHEN(w == 1, hasEnded = true)
}

#define HAD_STARTED(server) ((database[server].row[0].journal & START) != 0 || database[server].row[0].done > 0)

/* Nobody could renew its lease. */
inline breakOff() {
  isUnsettled = true;
  for (k : 1 .. 3) { WHEN(D.lease[k] && lease[k] == OnTime, lease[k] = Waiting) }
  k = 0
}

inline failOver(newTag) {
  isStartLost = HAD_STARTED(0) && !HAD_STARTED(1);
  hasFailed = true; lost = 0; tag = newTag; printf("failover\n");
  for (k : 0 .. SESSIONS - 1) {
    database[0].row[k].added = 0; database[0].row[k].taken = 0; database[0].row[k].done = 0;
    database[0].row[k].isRunning = false; database[0].row[k].isQueued = false; database[0].row[k].isParked = false;
    database[0].row[k].isDecided = false; database[0].row[k].executor = 0; database[0].row[k].epoch = 0;
    database[0].row[k].deaths = 0; database[0].row[k].journal = 0
  }
  for (k : 1 .. 3) { database[0].lease[k] = false }
  for (k : 2 .. 7) { restoreOutdated(attempt[k]) }
  restoreOutdated(late);
  breakOff()
}

inline recover(w) {
  COMMIT;
  suspect = 0;
  k = 0;
  do
  :: k < SESSIONS && ROW(k).executor != w -> k++
  :: else -> break
  od;
  if
  :: k < SESSIONS ->
     ROW(k).executor = 0; ROW(k).isQueued = true; ROW(k).deaths++;
     HOLDS("only a death is counted as one\n", lease[w] == Overdue && ROW(k).deaths == 1); printf("session %d of worker %d is recovered\n", k, w)
  :: else
  fi;
  WHEN(k == SESSIONS || IF(LeaseRemovedFirst), HOLDS("no live worker loses its lease\n", lease[w] != OnTime);
    D.lease[w] = false; lease[w] = OnTime;
    printf("the lease of worker %d is removed\n", w));
  k = 0
}

inline live(w) {
  if
  :: d_step { isAlive[w] && lease[w] != OnTime && D.lease[w] && CAN_COMMIT ->
       lease[w] = OnTime; COMMIT; printf("worker %d renews its lease\n", w) }
  :: d_step { isAlive[w] && !D.lease[w] -> exit(w); printf("the renewal of worker %d is refused, and it ends\n", w) }
  :: d_step { D.lease[w] && lease[w] != OnTime && CAN_COMMIT && (!isUnsettled || IF(RecoverAfterOutage)) -> recover(w) }
  :: d_step { IF(RecoverUnchecked) && D.lease[w] && lease[w] == Overdue && suspect == 0 ->
       suspect = w; printf("a worker finds that the lease of worker %d has expired\n", w) }
  :: d_step { IF(RecoverUnchecked) && D.lease[w] && suspect == w && CAN_COMMIT -> recover(w) }
  fi
}

inline endWorker() {
  if
#ifdef DEATH
  :: d_step { isAlive[1] && !isDisturbed -> isDisturbed = true; WHEN(D.lease[1], lease[1] = Overdue); exit(1);
       printf("worker 1 dies\n") }
#endif
#ifdef FREEZE
  :: d_step { isAlive[1] && !isDisturbed && D.lease[1] -> isDisturbed = true; lease[1] = Overdue;
       printf("worker 1 freezes, and its lease expires\n") }
#endif
#ifdef DRAIN
  :: d_step { isAlive[1] && !isDisturbed -> isDisturbed = true; isDraining[1] = true; printf("worker 1 drains\n") }
  :: d_step { isDraining[1] && answer[1].session == 0 && A(1, 0).phase == 0 && A(1, 1).phase == 0 && CAN_COMMIT ->
       for (k : 0 .. SESSIONS - 1) {
         WHEN(ROW(k).executor == 1 && !IF(LeaveKeepsRows) && !IF(LeaveToRecovery), ROW(k).executor = 0;
           ROW(k).isQueued = true)
       }
       D.lease[1] = IF(LeaveToRecovery); lease[1] = (IF(LeaveToRecovery) -> Waiting : OnTime); COMMIT; exit(1); printf("worker 1 leaves\n") }
#endif
#ifdef RESTART
  :: d_step { hasEnded && !hasFollower && CAN_COMMIT ->
       hasFollower = true; isAlive[3] = true; D.lease[3] = true; COMMIT; printf("worker 3 follows worker 1\n") }
#endif
  :: false
  fi
}

inline add(s) {
  d_step { ROW(s).added < TOTAL(s) && CAN_COMMIT ->
    ROW(s).added++; WHEN(!ROW(s).isRunning, ROW(s).isQueued = true);
    COMMIT; printf("message %d of session %d is added\n", ROW(s).added, s) }
}

active proctype steps() {
  d_step {
    for (k : 1 .. 3) { lease[k] = OnTime }
    isAlive[1] = true; isAlive[2] = true; D.lease[1] = true; D.lease[2] = true; k = 0
  }
end:
  do
  :: add(0)
  :: work(1, 0)
  :: work(2, 0)
  :: work(3, 0)
#if SESSIONS > 1
  :: add(1)
  :: work(1, 1)
  :: work(2, 1)
  :: work(3, 1)
#endif
  :: live(1)
  :: live(2)
  :: live(3)
  :: endWorker()
  :: d_step { isUnsettled && (!isAlive[1] || lease[1] != Waiting) && (!isAlive[2] || lease[2] != Waiting) &&
              (!isAlive[3] || lease[3] != Waiting) -> isUnsettled = false;
       for (k : 1 .. 3) { WHEN(lease[k] == Waiting, lease[k] = Overdue) }
       k = 0; printf("a lease time has passed since the outage\n") }
  :: d_step { late.kind > 0 && CAN_COMMIT -> printf("what was given up arrives\n"); execute(late); clear(late); result = false }
  :: d_step { late.kind > 0 -> printf("a statement is lost\n"); clear(late) }
#ifdef PARK
  :: d_step { ROW(0).isRunning && (ROW(0).journal & QUESTION) != 0 && !ROW(0).isDecided && CAN_COMMIT ->
       ROW(0).isDecided = true; printf("the user decides\n"); COMMIT;
       WHEN(ROW(0).isParked && !IF(WakeApart), ROW(0).isParked = false; ROW(0).isQueued = true);
       HOLDS("a decided turn is not parked\n", !(ROW(0).isParked && ROW(0).isDecided)) }
#endif
#ifdef OUTAGE
  :: d_step { !wasAway -> wasAway = true; breakOff(); printf("PostgreSQL was away\n") }
#endif
#ifdef FAILOVER
  :: d_step { !isCut -> isCut = true; copyToReplica(); printf("the replica receives nothing more\n") }
  :: d_step { isCut && !hasFailed -> failOver(0) }
  :: d_step { isCut && !hasFailed -> failOver(2) }
#endif
#ifdef LOG_LOSS
  :: d_step { !isLogLost && logEpoch[0] > 0 -> isLogLost = true; logEpoch[0] = 0; logWriter[0] = 0;
       isStartShown = false; printf("the log is lost\n") }
#endif
  /* A statement that waits for a lock has read the other rows before. */
  :: d_step { IF(EndReadFirst) && snapshot != ROW(0).added && ROW(0).isRunning && ROW(0).added > 0 ->
       snapshot = ROW(0).added; printf("a statement reads the messages, and waits for the row\n") }
  :: d_step { IF(ParkReadFirst) && snapshot != ROW(0).isDecided && ROW(0).isRunning ->
       snapshot = ROW(0).isDecided; printf("a statement reads the decisions, and waits for the row\n") }
  :: timeout ->
       d_step {
         for (k : 0 .. SESSIONS - 1) {
           HOLDS("no turn is left without a worker\n", !ROW(k).isRunning && ROW(k).executor == 0 && !ROW(k).isQueued);
           HOLDS("each message is run once and in order\n", ROW(k).done == TOTAL(k) && ROW(k).taken == ROW(k).done)
         }
         k = 0
       };
       break
  od
}
