/**
 * A link whose commands are answered within a minute, whatever carries them: by then a person has waited long enough, and
 * is told that nobody knows. An answer that comes later changes nothing here: the log shows what was done.
 */
import { ClientError } from "../errors.ts";
import { ANSWER_MS } from "../http/api.ts";
import type { Link, LinkCommand } from "../transport/transport.ts";
import type { ClientEnv } from "../options.ts";

export function impatientLink(link: Link, env: Pick<ClientEnv, "setTimer">): Link {
  return {
    watch: (session, cursor, handler) => link.watch(session, cursor, handler),
    request: (path, init) => link.request(path, init),
    close: () => link.close(),
    command: (command: LinkCommand) =>
      new Promise((resolve, reject) => {
        const cancel = env.setTimer(() => {
          const words = "The server hasn't answered for a minute. Look whether it was done.";
          reject(new ClientError("UNSURE", words, { canRetry: true }));
        }, ANSWER_MS);
        link.command(command).then(resolve, reject).finally(cancel);
      }),
  };
}
