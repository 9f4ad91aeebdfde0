/** `GatewayProgram` starts the program run-gateway.ts, a gateway in its own process that tests can kill and restart. */
import { join } from "node:path";
import type { ServerOptions } from "@turnstream/server";
import type { BackendOptions } from "../backend/open-backend.ts";
import { freePort } from "../network/free-port.ts";
import type { PaymentSettings } from "../payments/payment-settings.ts";
import { ChildProgram } from "../processes/child-program.ts";

export interface GatewaySettings extends Pick<
  ServerOptions,
  "secrets" | "allowedOrigins" | "publicUrl" | "limits" | "callerLimits" | "trustProxy"
> {
  readonly backend: BackendOptions;
  /** @default no payments */
  readonly payments?: PaymentSettings;
  /** A gateway that is restarted needs the same port. @default a free port */
  readonly port?: number;
  /** The address to listen on. @default 127.0.0.1 */
  readonly host?: string;
  /** In front of the command, see `ChildProgram`. @default none */
  readonly launcher?: readonly string[];
  /** Whether to sample how much it buffers for its slowest client; see `takePeak`. @default false */
  readonly samplesBuffers?: boolean;
}

export type GatewayMessage =
  | { readonly url: string }
  | { readonly failed: string }
  | { readonly peakBufferedBytes: number };

export type GatewayRequest = { readonly takePeak: true };

export class GatewayProgram extends ChildProgram<GatewayMessage, GatewayRequest> {
  readonly settings: GatewaySettings;
  #url = "";

  private constructor(settings: GatewaySettings, root: string) {
    const { name = "gateway" } = settings.backend;
    const { launcher = [] } = settings;
    super({ file: join(root, "tests/kit/gateway/run-gateway.ts"), settings, name, launcher });
    this.settings = settings;
  }

  /**
   * @param root the repository, or a copy of it with another version
   * @returns the gateway once it listens
   */
  static async launch(
    settings: GatewaySettings,
    root = join(import.meta.dirname, "../../.."),
  ): Promise<GatewayProgram> {
    const gateway = new GatewayProgram({ port: await freePort(), ...settings }, root);
    gateway.#url = (await gateway.waitFor("url")).url;
    return gateway;
  }

  /** Starts the gateway again on the same port after it was killed. */
  async relaunch(): Promise<GatewayProgram> {
    return GatewayProgram.launch(this.settings);
  }

  get url(): string {
    return this.#url;
  }

  get failures(): string[] {
    return this.findAll("failed").map(({ failed }) => failed);
  }

  /** Returns the most bytes that it has buffered for one client since the last call. */
  async takePeak(): Promise<number> {
    return (await this.request({ takePeak: true }, "peakBufferedBytes")).peakBufferedBytes;
  }
}
