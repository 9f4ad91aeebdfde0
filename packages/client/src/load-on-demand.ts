/** `loadOnDemand` loads the code that a page needs only after its first render. It rejects only with a `ClientError`. */
import { ClientError } from "./errors.ts";
import type * as OnDemand from "./on-demand-chunk.ts";
import type { Reporter } from "./report.ts";

export async function loadOnDemand(report: Reporter): Promise<typeof OnDemand> {
  return await import("./on-demand-chunk.ts").catch((cause: unknown) => {
    throw report.error(new ClientError("OFFLINE", "The code can't be loaded.", { cause, canRetry: true }));
  });
}
