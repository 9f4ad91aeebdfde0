import type { CommandBackend } from "../../server/src/session/backend.ts";
import type { NewPayment } from "../src/store/payments-part.ts";
import type { SessionRef } from "../../server/src/util/refs.ts";
export interface TestPayment {
  readonly id: string;
  readonly orderNo: string;
  readonly token: string;
}
export declare function requestTestPayment(
  { store }: Pick<CommandBackend, "store">,
  ref: SessionRef,
  change?: Partial<NewPayment>,
): Promise<TestPayment>;
