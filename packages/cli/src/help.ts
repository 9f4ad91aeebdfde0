/**
 * `HELP`, `KEYS_HELP`, `KNOWLEDGE_HELP`, `PAYMENTS_HELP` and `WEBHOOKS_HELP` are the texts of `--help`. Constants only.
 * Invariant: the commands match `COMMANDS` in `run.ts`, and the options match those that each command parses.
 */

export const HELP = `turnstream: manages the database of a Turnstream server.

Commands:
  migrate             updates the tables to this version, including those of the engine
  keys create         creates an API key, and its tenant if requested
  keys list           lists the keys of a tenant
  keys revoke         revokes a key permanently
  knowledge import    imports a folder of texts into a knowledge base
  knowledge list      lists the knowledge bases of a tenant, or the objects of one
  knowledge remove    removes an object, or a whole knowledge base
  payments list       lists the payments of a tenant that need a decision
  payments show       shows a payment and what happened to it
  payments resolve    resolves the flag of a payment
  webhooks create     creates a webhook endpoint of a tenant
  webhooks list       lists the webhook endpoints of a tenant
  webhooks delete     deletes an endpoint
  webhooks deliveries lists the deliveries to an endpoint
  webhooks replay     sends a delivery again

The environment variable DATABASE_URL is the address of the database.

Examples:
  turnstream migrate
  turnstream keys create --tenant acme --new-tenant --name "our backend"
  turnstream knowledge import ./handbook --tenant acme --base handbook
  turnstream keys --help
  turnstream knowledge --help
  turnstream payments --help
  turnstream webhooks --help
  turnstream --version
`;

export const KEYS_HELP = `turnstream keys: manages the API keys of a tenant.

  turnstream keys create --tenant <id> --name <purpose> [options]
      Creates a key and prints its secret. Only its hash is stored, so the secret can't be shown again.
      --new-tenant          also creates the tenant if it doesn't exist
      --scope <scope>       permission: read, write, decide, share, knowledge, webhooks, payments or
                            tokens. Repeat it for several. Default: all permissions in the tenant

  turnstream keys list --tenant <id>
      Lists the keys of a tenant: id, last use, scopes, name.

  turnstream keys revoke --tenant <id> <key>
      Revokes a key by its id. Its connections and tokens end within seconds.

Examples:
  turnstream keys create --tenant acme --new-tenant --name "our backend"
  KEY=$(turnstream keys create --tenant acme --name reports --scope read)
  turnstream keys revoke --tenant acme bb7f6f8c9d04a11c579b1376
`;

export const KNOWLEDGE_HELP = `turnstream knowledge: manages the texts that agents can search and read.

  turnstream knowledge import <folder> --tenant <id> --base <name> [options]
      Imports the .md, .txt, .html, .csv and .json files of the folder and its subfolders. Skips files
      that did not change since the last import.
      --prune               also removes objects whose files no longer exist
      --url <prefix>        address where users can read the files: the prefix plus the path of the file
      --quiet               prints only the totals

  turnstream knowledge list --tenant <id> [--base <name>]
      Lists the knowledge bases of a tenant, or the objects of one: id, lines, title.

  turnstream knowledge remove --tenant <id> --base <name> <object>
  turnstream knowledge remove --tenant <id> --base <name> --all
      Removes one object, or the knowledge base with all its objects.

Examples:
  DATABASE_URL=postgres://localhost/turnstream \\
    turnstream knowledge import ./handbook --tenant acme --base handbook --prune
  turnstream knowledge import ./site --tenant acme --base site --url https://example.com/
  turnstream knowledge list --tenant acme --base handbook
  turnstream knowledge remove --tenant acme --base handbook leave/old-policy.md
`;

export const PAYMENTS_HELP = `turnstream payments: finds and resolves payments that need a decision.

A payment is flagged late_success if the payment provider reports a success after the payment failed, was
cancelled or had expired, and mismatch if it reports another amount or currency.

  turnstream payments list --flagged --tenant <id>
      Lists the payments with an unresolved flag, the newest first: id, flag, status, amount, order number,
      provider, session. The amount is in the smallest unit that providers accept for the currency.

  turnstream payments show --tenant <id> <payment>
      Shows a payment and its changes, the oldest first: number, time, actor, input, outcome, statuses,
      reported amount, text of the provider.

  turnstream payments resolve --tenant <id> <payment> --note <text> [--by <operator>]
      Resolves the flag after you have decided, for example refunded the money at the provider. The
      status stays, and no money moves.
      --by <operator>       who decided. Default: cli

Examples:
  turnstream payments list --flagged --tenant acme
  turnstream payments resolve --tenant acme pay_7 --note "Refunded at the provider." --by linh
`;

export const WEBHOOKS_HELP = `turnstream webhooks: manages the webhook endpoints of a tenant.

  turnstream webhooks create <url> --tenant <id> [options]
      Creates an endpoint and prints its secret, with which the receiver verifies signatures. The secret
      can't be shown again.
      --event <event>       interaction.requested, interaction.updated, turn.ended, turn.failed,
                            payment.flagged or payment.refunded. Repeat it for several. Default: all events

  turnstream webhooks list --tenant <id>
      Lists the endpoints of a tenant: id, URL, events.

  turnstream webhooks delete --tenant <id> <webhook>
      Deletes an endpoint and its deliveries.

  turnstream webhooks deliveries --tenant <id> <webhook>
      Lists the newest 100 deliveries: id, state, last result, event.

  turnstream webhooks replay --tenant <id> <webhook> <delivery>
      Sends a delivery again, with the same webhook-id.

Examples:
  SECRET=$(turnstream webhooks create https://example.com/hooks --tenant acme --event turn.failed)
  turnstream webhooks deliveries --tenant acme wh_5f1c0a9be2d47a8810c3f2aa
`;
