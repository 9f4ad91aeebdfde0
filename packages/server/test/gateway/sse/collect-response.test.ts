/** Tests that `collectResponse` rejects if its stream fails, so that its caller doesn't take that for the end of the turn. */
import { expect, test, vi } from "vitest";
import type { GatewayContext } from "../../../src/gateway/context.ts";
import { RequestError } from "../../../src/gateway/errors.ts";
import { collectResponse } from "../../../src/gateway/sse/collect-response.ts";

test("rejects with the code of a stream that can't start, and reports it once", async () => {
  const onError = vi.fn<() => void>();
  const feeds = {
    open() {
      throw new Error("the feed can't be opened");
    },
  };
  const context = { onError, feeds } as unknown as GatewayContext;
  const format = { dialect: "responses", wire: "sse", includeToolTags: false, includeHidden: false } as const;
  const options = { after: "1-1", untilTurnEnd: "t1" } as const;
  const ref = { tenant: "t", session: "s" };
  const error = await collectResponse(context, ref, format, options, new AbortController().signal).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(RequestError);
  expect(error).toMatchObject({ code: "SERVER_ERROR" });
  expect(onError).toHaveBeenCalledTimes(1);
});
