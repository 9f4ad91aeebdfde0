/*
 * The live log of one session: docs/log-model.md explains this file, and `npm run model` checks it.
 *
 * Each `d_step` is one atomic step of Redis, of the store or of a process. Spin tries the steps in every order.
 * log-sizes.ts defines the sizes and parts of a configuration. `IF(name)` marks what a mutation changes: it removes one
 * rule.
 */
#define SEQS 10 /* more than the longest log has */
#ifndef SPLITS
#define SPLITS false /* true: the old primary still answers after the failover */
#endif
#ifndef MUTATION
#define MUTATION None
#endif
mtype = { None, NoGeneration, GenerationNotStored, LateRetry, LateClaim, ClaimSentAgain, ClaimNotConfirmed,
  ClaimWithoutRestart, StaleTimeline, StaleTimelineOfRow, RowNotSearched, RowBeforeBase, RowAfterEnd, RowReadFirst,
  ArchiveDuringClaim, TrimUnarchived, CursorBySeq, ClaimJoinedBySeq }
mtype = { Append, Retry, Claim, Look, Join } /* requests */
mtype = { Claimed, Idle, Waiting, Unsure, Over } /* phases of a writer */

/* A position is an epoch and a seq. Content is the epoch for a claim, writer * 4 + counter for an append, or ROW. */
#define POSITION(epoch, seq) ((epoch) * 16 + (seq))
#define EPOCH(position) ((position) / 16)
#define SEQ(position) ((position) % 16)
#define CONTENT(writer, counter) ((writer) * 4 + (counter))
#define IS_CLAIM(content) ((content) < 4)
#define WRITER(content) (IS_CLAIM(content) -> (content) : (content) / 4)
#define COUNTER(content) (IS_CLAIM(content) -> 0 : (content) % 4)
#define ROW 28

/* `position` and `content` have every entry by its seq. Those up to `base` are trimmed, and only the checks read them. */
typedef Server {
  byte position[SEQS + 1]; byte content[SEQS + 1]; byte last; byte base;
  byte epoch; byte timeline; byte generation /* the head. Its writer has the number of the epoch. Epoch 0: no log */
}
typedef Request { mtype kind; byte writer; byte generation; byte content; byte at }
typedef Writer { mtype phase; byte generation; byte counter; byte wire; byte floor }
typedef Page { bool isRead; byte from; byte to; byte epoch; byte server }
typedef Batch { bool isThere; byte position; byte content; byte before; byte after }

Server server[2];      /* 0 is the primary, 1 its replica, which no reader and no writer uses before the failover */
bool isCut, hasFailed; /* the replica receives nothing more; the replica is the primary */
Request wire[2];       /* what was sent over each of two connections and may still arrive */
Writer writer[4];      /* by epoch */
byte assigned, doubts; /* the newest epoch that the store has assigned; how many tries had no known result */
byte archivedPosition[SEQS + 1], archivedContent[SEQS + 1], archived; /* the archive, and its last seq */
Page page;             /* what the archiver has read and not archived yet */
byte at, seen[SEQS + 1]; bool isLive; /* the reader's position, and what it shows up to there */
Batch batch;           /* a published entry on its way to the reader */
bool isRow, isRowArchived, isLooking; byte since, rowBase, joins; /* the row of the outbox, and its publishers */
byte k, q, result;     /* scratch, 0 between two steps */

#define L server[s]
#define ANSWERS(s) (s == hasFailed || (s == 0 && SPLITS))
#define HAS_WIRE (wire[0].kind == 0 || wire[1].kind == 0)
#define IS_AWAITED(c) (wire[c].kind != Join && writer[wire[c].writer].phase == Waiting && writer[wire[c].writer].wire == c)
#define APPENDS(w) (w == 1 -> APPENDS1 : (w == 2 -> APPENDS2 : APPENDS3))
#define IF(mutation) (MUTATION == mutation)
#define WHEN(condition, step) if :: (condition) -> step :: else fi
#define EACH(condition, step) for (k : 1 .. SEQS) { WHEN(condition, step) }
#define CLEAR k = 0; q = 0; result = 0
#define HOLDS(name, condition) if :: (condition) :: else -> printf("BROKEN: "); printf(name); assert(false) fi
#ifdef EFFECTS /* look only at what readers and the archive get */
#define HOLDS_IN_LOG(name, condition) skip
#else
#define HOLDS_IN_LOG(name, condition) HOLDS(name, condition)
#endif

/* Writes an entry after the last one and publishes it. */
inline add(s, newEpoch, what) {
  L.last++;
  assert(L.last <= SEQS);
  q = L.last - 1;
  L.position[L.last] = POSITION(newEpoch, L.last);
  L.content[L.last] = what;
  result = L.position[L.last];
  EACH(k <= q, HOLDS_IN_LOG("an append is in the log once\n", L.content[k] != what));
  k = 1;
  do
  :: k < L.last && L.content[k] != what - 1 -> k++
  :: else -> break
  od;
  HOLDS_IN_LOG("acknowledged appends stay in order\n", COUNTER(what) <= 1 || k < L.last);
  HOLDS_IN_LOG("a position has one content\n",
    server[1 - s].position[L.last] != result || server[1 - s].content[L.last] == what);
  HOLDS_IN_LOG("positions have no gaps\n", SEQ(L.position[q]) == q);
  HOLDS_IN_LOG("no writer appends after a higher epoch\n", EPOCH(L.position[q]) <= newEpoch);
#ifdef READER
  WHEN(!batch.isThere, batch.isThere = true; batch.position = result; batch.content = what; batch.before = L.position[q];
    batch.after = L.content[q]) /* else it is lost, and the reader may read again at any time */
#endif
}

/* One script, for the request `r` of a connection. `result` is the position in the reply, or 0 for a refusal. */
inline execute(r, s, connection) {
  if
  :: r.kind == Append ->
     WHEN(L.epoch == r.writer && L.timeline == (IF(StaleTimeline) -> 0 : s) &&
       (IF(NoGeneration) || L.generation == r.generation), add(s, r.writer, r.content))
  :: r.kind == Retry && L.epoch == r.writer && L.timeline == (IF(StaleTimeline) -> 0 : s) &&
       (IF(LateRetry) || L.generation <= r.generation) ->
     WHEN(!IF(GenerationNotStored), L.generation = r.generation);
     EACH(k > L.base && k <= L.last && WRITER(L.content[k]) == r.writer, q = k); /* the newest entry of the writer */
     if
     :: q > 0 && L.content[q] == r.content -> result = L.position[q]
     :: q > 0 && L.content[q] != r.content -> add(s, r.writer, r.content)
     :: else /* even its claim was trimmed: UNSURE */
     fi
  :: r.kind == Claim && (IF(LateClaim) || L.epoch == 0 || (r.writer > L.epoch && r.writer > EPOCH(L.position[L.last]))) ->
     if
     :: L.epoch == 0 || (!IF(ClaimWithoutRestart) && (L.position[L.last] < r.at || r.at < L.position[L.base])) ->
        EACH(k > L.base && k <= L.last, HOLDS_IN_LOG("nothing unarchived is trimmed\n", SPLITS ||
          L.content[k] == archivedContent[k] || IS_CLAIM(L.content[k]) || L.content[k] == ROW));
        for (k : 1 .. SEQS) {
          L.position[k] = (k <= SEQ(r.at) -> archivedPosition[k] : 0);
          L.content[k] = (k <= SEQ(r.at) -> archivedContent[k] : 0)
        }
        L.last = SEQ(r.at);
        L.base = L.last
     :: else -> WHEN(L.last < SEQ(r.at), L.last = SEQ(r.at)) /* only without the restart */
     fi;
     L.epoch = r.writer;
     L.timeline = s;
     L.generation = 0;
     add(s, r.writer, r.content)
  :: r.kind == Look && L.epoch == r.writer && L.timeline == s ->
     EACH(k > L.base && k <= L.last && L.content[k] == r.writer, result = L.position[k])
  :: r.kind == Join && L.epoch > 0 && (IF(RowBeforeBase) || L.position[L.base] <= r.at) ->
     EACH(k > L.base && k <= L.last && L.content[k] == ROW && L.position[k] >= r.at, result = L.position[k]);
     WHEN((result == 0 || IF(RowNotSearched)) && L.timeline == (IF(StaleTimelineOfRow) -> 0 : s) &&
       (IF(RowAfterEnd) || r.at <= L.position[L.last]), add(s, L.epoch, ROW))
  :: else
  fi;
  name(r.kind, r.writer, r.content);
  printf(" of generation %d arrives at server %d: %d-%d\n", r.generation, s, EPOCH(result), SEQ(result));
  if
  :: IS_AWAITED(connection) && result > 0 ->
     writer[r.writer].wire = 0;
     writer[r.writer].phase = (writer[r.writer].counter == 0 -> Claimed : Idle)
  :: IS_AWAITED(connection) && result == 0 ->
     writer[r.writer].wire = 0; writer[r.writer].generation = 0; writer[r.writer].counter = 0;
     writer[r.writer].phase = Over
  :: else
  fi;
  forget(r)
}

inline forget(r) { r.kind = 0; r.writer = 0; r.generation = 0; r.content = 0; r.at = 0 }

inline name(request, from, what) {
  if
  :: request == Append || request == Retry -> printf("%e %d of writer %d", request, COUNTER(what), from)
  :: request == Join -> printf("Join of the row")
  :: else -> printf("%e of epoch %d", request, from)
  fi
}

inline send(what, from, that, where) {
  q = (wire[0].kind == 0 -> 0 : 1);
  wire[q].kind = what; wire[q].writer = from; wire[q].content = that; wire[q].at = where;
  WHEN(from > 0, wire[q].generation = writer[from].generation; writer[from].phase = Waiting; writer[from].wire = q);
  name(what, from, that);
  printf(" is sent over connection %d\n", q)
}

inline write(w) {
  if
  :: d_step { writer[w].phase == Claimed ->
       writer[w].phase = (assigned == w || IF(ClaimNotConfirmed) -> Idle : Over);
       printf("writer %d asks the store for the newest epoch\n", w) }
  :: d_step { writer[w].phase == Idle && writer[w].counter < APPENDS(w) && HAS_WIRE ->
       writer[w].counter++; send(Append, w, CONTENT(w, writer[w].counter), 0); CLEAR }
  :: d_step { writer[w].phase == Waiting && doubts < DOUBTS ->
       doubts++; writer[w].phase = Unsure; writer[w].wire = 0; printf("writer %d gives its try up\n", w) }
  :: d_step { writer[w].phase == Unsure && HAS_WIRE ->
       if
       :: writer[w].counter > 0 -> writer[w].generation++; send(Retry, w, CONTENT(w, writer[w].counter), 0)
       :: writer[w].counter == 0 && !IF(ClaimSentAgain) -> send(Look, w, w, 0)
       :: else -> send(Claim, w, w, writer[w].floor)
       fi;
       CLEAR }
  fi
}

inline load() { /* a fresh state: the archive. The log follows with the next read. */
  isLive = false;
  at = archivedPosition[archived];
  for (k : 1 .. SEQS) { seen[k] = (k <= archived -> archivedContent[k] : 0) }
}

inline use(s) {
  if
  :: d_step { ANSWERS(s) && wire[0].kind > 0 -> execute(wire[0], s, 0); CLEAR }
  :: d_step { ANSWERS(s) && wire[1].kind > 0 -> execute(wire[1], s, 1); CLEAR }
#ifdef ARCHIVE
  :: d_step { ANSWERS(s) && !page.isRead && L.epoch > 0 && archived >= L.base && archived < L.last &&
              L.position[archived] == archivedPosition[archived] ->
       page.isRead = true; page.from = archived; page.to = L.last; page.epoch = L.epoch; page.server = s;
       printf("the archiver reads %d to %d of server %d\n", page.from + 1, page.to, s) }
  :: d_step { ANSWERS(s) && L.epoch > 0 && L.base < L.last && (IF(TrimUnarchived) ||
              (L.base < archived && archived <= L.last && L.position[archived] == archivedPosition[archived])) ->
       q = (IF(TrimUnarchived) -> L.last : archived);
       EACH(k <= q, HOLDS_IN_LOG("nothing unarchived is trimmed\n", L.content[k] == archivedContent[k]));
       L.base = q; printf("the log of server %d is trimmed up to %d\n", s, q); CLEAR }
#endif
#ifdef EXPIRY
  :: d_step { ANSWERS(s) && L.epoch > 0 && L.last == archived && L.position[archived] == archivedPosition[archived] ->
       L.epoch = 0; L.timeline = 0; L.generation = 0; L.base = L.last; printf("the log of server %d expires\n", s) }
#endif
#ifdef READER
  :: d_step { ANSWERS(s) ->
       q = SEQ(at);
       if
       :: L.epoch > 0 && q >= L.base && q <= L.last && (IF(CursorBySeq) || L.position[q] == at) ->
          printf("the reader at %d-%d reads server %d\n", EPOCH(at), q, s);
          EACH(k <= q, HOLDS("a reader has a prefix of one list\n", seen[k] == L.content[k]));
          EACH(k > q && k <= L.last, seen[k] = L.content[k]; at = L.position[k]);
          isLive = true
       :: (L.epoch == 0 || at > L.position[L.last]) && at == archivedPosition[archived] ->
          printf("the reader at %d-%d waits for the claim after the archive\n", EPOCH(at), q);
          isLive = true
       :: else -> printf("server %d tells the reader at %d-%d to load the archive\n", s, EPOCH(at), q); load()
       fi;
       CLEAR }
#endif
#ifdef JOINS /* after UNSURE, a publisher reads the base of the log, and then whether the row is archived */
  :: d_step { ANSWERS(s) && isRow && !isLooking && L.position[L.base] > since && !(IF(RowReadFirst) && isRowArchived) ->
       isLooking = true; rowBase = L.position[L.base]; printf("a publisher got UNSURE and begins to look\n") }
  :: d_step { ANSWERS(s) && isLooking && joins < JOINS && HAS_WIRE && (IF(RowReadFirst) || !isRowArchived) ->
       WHEN(IF(RowReadFirst), rowBase = L.position[L.base]);
       isLooking = false; joins++; send(Join, 0, ROW, rowBase); rowBase = 0; CLEAR }
#endif
  fi
}

inline dropBatch() { batch.isThere = false; batch.position = 0; batch.content = 0; batch.before = 0; batch.after = 0 }

active proctype steps() {
end:
  do
  :: d_step { assigned < EPOCHS && HAS_WIRE ->
       assigned++;
       WHEN(IF(ClaimSentAgain), writer[assigned].floor = archivedPosition[archived]);
       send(Claim, assigned, assigned, archivedPosition[archived]); CLEAR }
  :: write(1)
  :: write(2)
  :: write(3)
  :: use(0)
  :: use(1)
  :: d_step { wire[0].kind > 0 && !IS_AWAITED(0) -> printf("bytes of connection 0 are lost\n"); forget(wire[0]) }
  :: d_step { wire[1].kind > 0 && !IS_AWAITED(1) -> printf("bytes of connection 1 are lost\n"); forget(wire[1]) }
#ifdef FAILOVER
  :: d_step { !isCut ->
       isCut = true;
       for (k : 1 .. SEQS) {
         server[1].position[k] = server[0].position[k]; server[1].content[k] = server[0].content[k]
       }
       server[1].last = server[0].last; server[1].base = server[0].base; server[1].epoch = server[0].epoch;
       server[1].timeline = server[0].timeline; server[1].generation = server[0].generation;
       printf("the replica receives nothing more\n"); CLEAR }
  :: d_step { isCut && !hasFailed ->
       hasFailed = true; printf("failover to server 1\n");
       WHEN(!SPLITS, server[0].base = 0; server[0].epoch = 0; server[0].timeline = 0; server[0].generation = 0) }
#endif
#ifdef ARCHIVE
  :: d_step { page.isRead ->
       q = page.server;
       if
       :: page.from == archived && (page.epoch >= assigned || IF(ArchiveDuringClaim)) ->
          EACH(k <= archived, HOLDS("the archive is a prefix of one list\n", archivedContent[k] == server[q].content[k]));
          EACH(k > archived && k <= page.to, archivedContent[k] = server[q].content[k];
            archivedPosition[k] = server[q].position[k]; isRowArchived = isRowArchived || archivedContent[k] == ROW);
          archived = page.to;
          printf("the archive ends at %d-%d\n", EPOCH(archivedPosition[archived]), archived)
       :: else -> printf("the page of the archiver is refused\n")
       fi;
       page.isRead = false; page.from = 0; page.to = 0; page.epoch = 0; page.server = 0; CLEAR }
#endif
#ifdef JOINS
  :: d_step { !isRow -> isRow = true; since = archivedPosition[archived]; printf("the row is committed\n") }
  :: d_step { isRow && joins < JOINS && !isRowArchived && HAS_WIRE -> joins++; send(Join, 0, ROW, since); CLEAR }
#endif
#ifdef READER
  :: d_step { isLive || at != archivedPosition[archived] -> load(); printf("a new reader loads the archive\n"); CLEAR }
  :: d_step { batch.isThere && isLive ->
       printf("the reader at %d-%d receives %d-%d\n", EPOCH(at), SEQ(at), EPOCH(batch.position), SEQ(batch.position));
       q = SEQ(at);
       if
       :: EPOCH(batch.position) < EPOCH(at) || (EPOCH(batch.position) == EPOCH(at) && SEQ(batch.position) <= q)
       :: (EPOCH(batch.position) == EPOCH(at) && SEQ(batch.position) == q + 1) ||
          (EPOCH(batch.position) > EPOCH(at) && IS_CLAIM(batch.content) &&
            (batch.before == at || (IF(ClaimJoinedBySeq) && SEQ(batch.before) == q))) ->
          HOLDS("a reader has a prefix of one list\n", at == batch.before && seen[q] == batch.after);
          HOLDS("positions have no gaps\n", SEQ(batch.position) == q + 1);
          seen[q + 1] = batch.content;
          at = batch.position
       :: else -> isLive = false
       fi;
       dropBatch(); CLEAR }
  :: d_step { batch.isThere -> dropBatch(); printf("a notification is lost\n") }
#endif
  od
}
