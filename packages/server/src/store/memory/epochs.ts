/** Epochs in memory. */
import { checkCount, checkId, checkLimit, checkText } from "../rules/arguments.ts";
import type { Env } from "../../util/env.ts";
import { StoreError } from "../errors.ts";
import type { EpochRecord, Epochs } from "../ports/epochs.ts";
import { MAX_PAGE } from "../ports/sessions.ts";
import { changeSession, requireSession, sessionRow } from "./session-rows.ts";
import { type MemoryTables, table } from "./tables.ts";

const EPOCHS = table<EpochRecord>("session_epochs", "session");

export function memoryEpochs(tables: MemoryTables, env: Env): Epochs {
  return {
    next: (ref, claim) =>
      tables.run((rows) => {
        const seen = checkCount(claim.seen, "seen");
        const by = checkId(claim.by, "by");
        const reason = checkText(claim.reason, "reason");
        const session = requireSession(rows, ref);
        const { ifEpoch = session.epoch } = claim;
        if (checkCount(ifEpoch, "ifEpoch") !== session.epoch)
          throw new StoreError("CONFLICT", `epoch of session ${ref.session}`);
        const epoch = Math.max(session.epoch, seen) + 1;
        changeSession(rows, session, { epoch });
        rows.put(EPOCHS, ref.session, String(epoch), { epoch, by, reason, at: env.now() });
        return { epoch, archived: session.archived };
      }),
    list: (ref, limit) =>
      tables.run((rows) =>
        (sessionRow(rows, ref) === undefined ? [] : rows.of(EPOCHS, ref.session))
          .toSorted((a, b) => b.epoch - a.epoch)
          .slice(0, checkLimit(limit, MAX_PAGE)),
      ),
  };
}
