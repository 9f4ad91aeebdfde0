/**
 * `addTail` adds `turnstream tail`: it prints the events of a session while they happen, one line per event.
 * Invariant: it ends with Ctrl-C and exit code 0, and by itself only with `--until-idle`. It reads, and changes nothing.
 */
import { DEFAULT_TENANT } from "@turnstream/server/internal";
import { type Command, Option } from "commander";
import { CommandError, type CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { requireTenant, withBackend } from "../open-backend.ts";
import { describeFrame } from "../tail/describe-frame.ts";
import { type DialectName, DIALECTS, followSession } from "../tail/follow-session.ts";

interface TailOptions {
  readonly tenant: string;
  readonly dialect: DialectName;
  readonly untilIdle?: boolean;
}

export function addTail(program: Command, context: CliContext): void {
  program
    .command("tail")
    .description("print the events of a session while they happen, until Ctrl-C")
    .argument("<session>", "id of the session")
    .option("--tenant <id>", "the tenant", DEFAULT_TENANT)
    .addOption(
      new Option("--dialect <name>", "the wire format in which events are printed")
        .choices(DIALECTS)
        .default("native"),
    )
    .option("--until-idle", "end when no turn runs and no message waits")
    .addHelpText(
      "after",
      examples([
        "turnstream tail ses_1 --tenant acme",
        "turnstream tail ses_1 --tenant acme --dialect blocks",
        "turnstream tail ses_1 --tenant acme --until-idle --json | jq .type",
      ]),
    )
    .action(action(context, tail));
}

async function tail(call: CommandCall, options: TailOptions, session = ""): Promise<void> {
  const { tenant, dialect, untilIdle = false } = options;
  const { context, styles, isJson } = call;
  const { signal, columns } = context;
  await withBackend(call.settings, async (backend) => {
    await requireTenant(backend.store, tenant);
    const ref = { tenant, session };
    if ((await backend.store.sessions.find(ref)) === null)
      throw new CommandError(`Tenant ${tenant} has no session ${session}.`);
    for await (const followed of followSession(backend, ref, { dialect, untilIdle, signal })) {
      if (followed.type === "notice") call.notice(followed.text);
      else if (isJson) context.out(`${JSON.stringify(followed.frame)}\n`);
      else context.out(`${describeFrame(followed.at, followed.frame, { styles, columns })}\n`);
    }
  });
}
